import SyncAuthority
import SyncModel
import SyncTestKit
import Testing

@Suite struct InMemoryStoreTests {
    @Test(arguments: AuthorityStoreConformance.ruleNames)
    func `the in-memory store keeps the rules of the port`(rule: String) throws {
        try AuthorityStoreConformance { InMemoryAuthorityStore(history: $0) }.run(rule)
    }

    @Test func `the suite detects a store that breaks a rule`() {
        let broken = AuthorityStoreConformance { _ in InMemoryAuthorityStore(epoch: Epoch(rawValue: "wrong")) }.run()
        #expect(broken.map(\.rule) == ["a new store has its epoch and nothing else"])
    }
}
