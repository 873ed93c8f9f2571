import Logging
import ServiceLifecycle
import SyncAuthority
import SyncModel
import SyncServerHTTP
import SyncSimulation
import SyncTestKit
import SyncWire
import Testing

@testable import SyncProgram
@testable import TomboloServer

@Suite struct UpkeepTests {
    private static let schema = ModelSchema(collection: "note", fields: [.text("text")])
    private static let epoch = Epoch(rawValue: "e")
    private let principal = Principal(name: "anna")
    private let client = ClientIdentity(client: ClientID(bits: Identifier128(high: 1, low: 1)), incarnation: 0)

    /// Creates notes with the given numbers, each in a separate commit.
    private func write(_ numbers: Range<Int64>, to authority: Authority) throws {
        for number in numbers {
            let id = RecordID(bits: Identifier128(high: 2, low: UInt64(number)))
            let note = Mutation(
                collection: "note", record: id, time: HybridTime(wall: Simulation.startTime, counter: UInt16(number)),
                intent: .create(["text": .text("\(number)")]))
            let transaction = Transaction(space: .default, mutations: [note])
            let numbered = NumberedTransaction(
                number: TransactionNumber(number), hash: try PayloadHash(of: transaction), transaction: transaction)
            let request = PushRequest(
                identity: client, epoch: Self.epoch, acknowledged: TransactionNumber(number), transactions: [numbered])
            let response = try authority.push(request, by: principal, now: Simulation.startTime)
            guard case .answered = response else {
                Issue.record("\(response)")
                return
            }
        }
    }

    /// Starts an upkeep service that keeps ten commits per space. The service must run until it is cancelled.
    private func startUpkeep(of authority: Authority, in simulation: Simulation) -> Task<Void, Never> {
        let upkeep = UpkeepService(
            authority: authority, kept: FeedBound(commits: 10), runtime: simulation.makeRuntime(device: "server"),
            logger: Logger(label: "test"))
        return simulation.start("upkeep") {
            await #expect(throws: CancellationError.self) { try await upkeep.keepUp() }
        }
    }

    private func extent(of store: InMemoryAuthorityStore) throws -> SpaceExtent {
        try store.read { view in try view.extent(of: .default) }
    }

    @Test func `old commits are removed shortly after the start and while the server runs`() throws {
        let store = InMemoryAuthorityStore(epoch: Self.epoch)
        let authority = Authority(store: store, catalog: SchemaCatalog([Self.schema]))
        try write(0..<30, to: authority)
        let simulation = Simulation(seed: 1)
        let task = startUpkeep(of: authority, in: simulation)
        try simulation.advance(by: .seconds(1))
        #expect(try extent(of: store) == SpaceExtent(head: Version(30), horizon: Version(20)))
        try write(30..<40, to: authority)
        try simulation.advance(by: UpkeepService.interval)
        #expect(try extent(of: store) == SpaceExtent(head: Version(40), horizon: Version(30)))
        task.cancel()
        try simulation.finish()
    }

    @Test func `the stored amounts are measured shortly after the start, and again after ten minutes`() throws {
        let store = InMemoryAuthorityStore(epoch: Self.epoch)
        try write(0..<10, to: Authority(store: store, catalog: SchemaCatalog([Self.schema])))
        let usage = try #require(try store.read { view in try view.usage() }.values.first)
        func server(withRoomFor bytes: Int) -> Authority {
            let policy = AuthorityPolicy(accounts: AccountLimits(bytes: usage.bytes + bytes))
            return Authority(store: store, catalog: SchemaCatalog([Self.schema]), policy: policy)
        }
        // A note takes a little more than `recordBytes`.
        let (full, roomy) = (server(withRoomFor: 1), server(withRoomFor: AuthorityLimits.recordBytes * 5 / 2))
        let simulation = Simulation(seed: 1)
        let tasks = [startUpkeep(of: full, in: simulation), startUpkeep(of: roomy, in: simulation)]
        try simulation.advance(by: .seconds(1))
        try write(10..<11, to: full)
        #expect(try extent(of: store).head == Version(10))
        try write(11..<12, to: roomy)
        // Another server of the database takes a note, which counts after the next measurement.
        try write(12..<13, to: Authority(store: store, catalog: SchemaCatalog([Self.schema])))
        #expect(try extent(of: store).head == Version(12))
        try simulation.advance(by: UpkeepService.measurementInterval)
        try write(13..<14, to: roomy)
        #expect(try extent(of: store).head == Version(12))
        for task in tasks { task.cancel() }
        try simulation.finish()
    }

    @Test func `the upkeep retries after a store failure`() throws {
        let store = InMemoryAuthorityStore(epoch: Self.epoch)
        let faulty = FaultyAuthorityStore(store)
        let authority = Authority(store: faulty, catalog: SchemaCatalog([Self.schema]))
        try write(0..<30, to: authority)
        let simulation = Simulation(seed: 1)
        faulty.arm(after: 0)
        let task = startUpkeep(of: authority, in: simulation)
        try simulation.advance(by: .seconds(1))
        #expect(try extent(of: store).horizon == .zero)
        try simulation.advance(by: UpkeepService.interval)
        #expect(try extent(of: store).horizon == Version(20))
        task.cancel()
        try simulation.finish()
    }

    @Test(.timeLimit(.minutes(15))) func `a server runs the upkeep while it serves`() async throws {
        let (writes, write) = AsyncStream.makeStream(of: Void.self)
        let base = InMemoryAuthorityStore(epoch: Self.epoch)
        try base.write { transaction in
            for _ in 0..<12_350 { _ = try transaction.takeVersion(in: .default) }
        }
        var recipes = ServerRecipes.live
        recipes.authority = { _, _, _, _, _ in
            let store = WatchedAuthorityStore(base: base) { write.yield() }
            return OpenAuthority(Authority(store: store, catalog: SchemaCatalog([Self.schema]))) {}
        }
        recipes.authentication = { _, _, _, _ in .blocking(NobodyIsKnown()) }
        // This listener accepts no requests. It ends after a write, and only the upkeep writes.
        recipes.listener = { _ in
            ServerListener { _ in
                for await _ in writes { return }
            }
        }
        let sources = ConfigurationSources(
            ProgramNames("syncd"), flags: try ConfigurationFlags(settings: ["authority.kept-commits=12345"]),
            variables: ["HOME": "/nonexistent"], file: nil)
        let settings = try ServerSettings(ResolvedConfiguration(sources))
        #expect(settings.keptCommits == 12_345)
        let server = ServerComposition(
            settings: settings, application: ServerApplication(catalog: SchemaCatalog([Self.schema])), recipes: recipes,
            logger: Logger(label: "test"))
        // The server ends when its listener ends.
        await #expect(throws: ServiceGroupError.self) { try await server.serve { _ in } }
        #expect(try extent(of: base) == SpaceExtent(head: Version(12_350), horizon: Version(5)))
    }
}

private struct NobodyIsKnown: Authenticator {
    func principal(bearing token: String) -> Principal? { nil }
}

/// A store that calls a closure after each write.
private struct WatchedAuthorityStore: AuthorityStore {
    let base: InMemoryAuthorityStore
    let onWrite: @Sendable () -> Void

    func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result {
        try base.read(body)
    }

    func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result {
        let result = try base.write(body)
        onWrite()
        return result
    }
}
