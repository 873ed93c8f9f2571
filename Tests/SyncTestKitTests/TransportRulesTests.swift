import SyncCore
import SyncModel
import SyncTestKit
import TestRings
import Testing
import TomboloCommunity

/// Tests which rules the conformance suite of transports checks, depending on the parts that a test provides.
@Suite(.ring(.unit)) struct TransportRulesTests {
    @Test func `the rule about other accounts needs no transport with an invalid token`() throws {
        let rule = "a request for an account other than the token's is refused"
        let transport = try TestServer(models: CommunityCatalog.models).transport(for: "ned")
        var subject = TransportConformance.Subject(
            transport: transport, space: .default, collection: "user", textField: "bio", values: { _ in Patch() },
            random: { 0 })
        #expect(TransportConformance(subject).rules.contains(rule))
        subject.stranger = transport
        #expect(TransportConformance(subject).rules.count { $0 == rule } == 1)
    }
}
