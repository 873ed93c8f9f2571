import Logging
import SyncAuthority
import SyncModel
import SyncSimulation
import SyncTestKit
import SyncWire
import Testing

@testable import SyncBootstrap

@Suite struct UpkeepTests {
    private static let schema = ModelSchema(collection: "note", fields: [.text("text")])
    private static let epoch = Epoch(rawValue: "e")
    private let principal = Principal(name: "anna")
    private let client = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0)

    /// Makes so many notes, each in a commit of its own.
    private func write(_ numbers: Range<Int64>, to authority: Authority) throws {
        for number in numbers {
            let id = RecordID(bits: Identifier128(high: 2, low: UInt64(number)))
            let note = Mutation(
                collection: "note", record: id, time: HybridTime(wall: Simulation.dawn, counter: UInt16(number)),
                intent: .create(["text": .text("\(number)")]))
            let transaction = Transaction(space: .default, mutations: [note])
            let numbered = NumberedTransaction(
                number: MutationNumber(number), hash: try PayloadHash(of: transaction), transaction: transaction)
            let request = PushRequest(
                identity: client, epoch: Self.epoch, acknowledged: MutationNumber(number), transactions: [numbered])
            let reply = try authority.push(request, by: principal, now: Simulation.dawn)
            guard case .answered = reply else {
                Issue.record("\(reply)")
                return
            }
        }
    }

    private func extent(of store: InMemoryAuthorityStore) throws -> SpaceExtent {
        try store.read { (view) throws(AuthorityStoreFailure) in try view.extent(of: .default) }
    }

    @Test func `old commits go soon after the start, and while the server runs`() throws {
        let store = InMemoryAuthorityStore(epoch: Self.epoch)
        let authority = Authority(store: store, catalog: SchemaCatalog([Self.schema]))
        try write(0..<30, to: authority)
        let simulation = Simulation(seed: 1)
        let upkeep = UpkeepService(
            authority: authority, keptCommits: 10, clock: simulation.clock(of: "server"), logger: Logger(label: "test"))
        let task = simulation.start("upkeep") { try? await upkeep.keepUp() }
        try simulation.advance(by: .seconds(1))
        #expect(try extent(of: store) == SpaceExtent(head: Version(30), horizon: Version(20)))
        try write(30..<40, to: authority)
        try simulation.advance(by: UpkeepService.interval)
        #expect(try extent(of: store) == SpaceExtent(head: Version(40), horizon: Version(30)))
        task.cancel()
        try simulation.finish()
    }

    @Test func `a store that fails is asked again`() throws {
        let store = InMemoryAuthorityStore(epoch: Self.epoch)
        let faulty = FaultyAuthorityStore(store)
        let authority = Authority(store: faulty, catalog: SchemaCatalog([Self.schema]))
        try write(0..<30, to: authority)
        let simulation = Simulation(seed: 1)
        let upkeep = UpkeepService(
            authority: authority, keptCommits: 10, clock: simulation.clock(of: "server"), logger: Logger(label: "test"))
        faulty.arm(after: 0)
        let task = simulation.start("upkeep") { try? await upkeep.keepUp() }
        try simulation.advance(by: .seconds(1))
        #expect(try extent(of: store).horizon == .zero)
        try simulation.advance(by: UpkeepService.interval)
        #expect(try extent(of: store).horizon == Version(20))
        task.cancel()
        try simulation.finish()
    }
}
