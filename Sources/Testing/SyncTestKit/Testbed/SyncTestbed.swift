import SyncAuthority
import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncSimulation
public import TomboloModeling

/// Devices and a server on virtual time, for an application's tests.
///
/// Nothing waits in real time, and the same seed runs the same way every time. Use the testbed from one thread, most
/// simply in a synchronous test:
///
/// ```swift
/// let testbed = try SyncTestbed(models: [Todo.self])
/// let (phone, tablet) = (try testbed.device("phone"), try testbed.device("tablet"))
/// try testbed.run { try await phone.create(Todo.self) { $0.title = "Milk" } }
/// try testbed.settle()
/// #expect(try testbed.run { try await tablet.query(Todo.self).count() } == 1)
/// try testbed.finish()
/// ```
///
/// The devices keep their records in the real SQLite store, on a disk in memory. The server is the real authority.
public final class SyncTestbed {
    /// The virtual time, the scheduler, and the random source of all devices and the server.
    public let simulation: Simulation
    /// The models of the server, and of devices created without their own models.
    public private(set) var catalog: SchemaCatalog
    private let models: ModelCatalog
    private let policy: SyncPolicy
    private let spaces: Set<SpaceID>
    private var store: InMemoryAuthorityStore
    private var authority: Authority
    private var devices: [TestbedDevice] = []

    /// Creates a testbed for an application's models, with a server and without devices.
    ///
    /// - Parameters:
    ///   - seed: decides the order of events wherever several orders are possible.
    ///   - models: the application's models.
    ///   - spaces: the spaces that every account reads and writes, and every device keeps in sync.
    /// - Throws: `ModelDeclarationError` when a declaration has an error.
    public convenience init(
        seed: UInt64 = 1, models: [any Model.Type], spaces: Set<SpaceID> = [.default], policy: SyncPolicy = SyncPolicy()
    ) throws(ModelDeclarationError) {
        let models = try ModelCatalog(models)
        self.init(seed: seed, catalog: models.schemas, models: models, spaces: spaces, policy: policy)
    }

    /// Creates a testbed for schemas without models, for tests that write to the stores directly.
    public convenience init(
        seed: UInt64 = 1, catalog: SchemaCatalog, spaces: Set<SpaceID> = [.default], policy: SyncPolicy = SyncPolicy()
    ) {
        self.init(seed: seed, catalog: catalog, models: ModelCatalog(), spaces: spaces, policy: policy)
    }

    private init(
        seed: UInt64, catalog: SchemaCatalog, models: ModelCatalog, spaces: Set<SpaceID>, policy: SyncPolicy
    ) {
        simulation = Simulation(seed: seed)
        self.catalog = catalog
        self.models = models
        self.policy = policy
        self.spaces = spaces
        store = InMemoryAuthorityStore(epoch: Epoch(rawValue: "testbed"))
        authority = Self.authority(store, catalog, spaces)
    }

    /// Adds a device that is on and has a link.
    ///
    /// - Parameter spaces: the spaces that the device follows whenever it starts; nil for all spaces of the testbed. It
    ///   may follow others later.
    /// - Throws: `StoreError` when the store cannot be opened.
    public func device(_ name: String, following spaces: Set<SpaceID>? = nil) throws(StoreError) -> TestbedDevice {
        try device(name, catalog: catalog, models: models, spaces: spaces)
    }

    /// Adds a device with an older or newer build of the application.
    ///
    /// - Throws: `ModelDeclarationError` when a declaration has an error, or `StoreError` when the store cannot be
    ///   opened.
    public func device(_ name: String, models: [any Model.Type]) throws -> TestbedDevice {
        let models = try ModelCatalog(models)
        return try device(name, catalog: models.schemas, models: models)
    }

    /// Adds a device with an older or newer build that is known by its schemas alone.
    public func device(_ name: String, catalog: SchemaCatalog) throws(StoreError) -> TestbedDevice {
        try device(name, catalog: catalog, models: ModelCatalog())
    }

    private func device(
        _ name: String, catalog: SchemaCatalog, models: ModelCatalog, spaces: Set<SpaceID>? = nil
    ) throws(StoreError) -> TestbedDevice {
        let device = TestbedDevice(
            name: name, simulation: simulation, catalog: catalog, models: models, policy: policy, authority: authority,
            serverCatalog: self.catalog, spaces: spaces ?? self.spaces)
        try device.start()
        devices.append(device)
        return device
    }

    /// Replaces the server with one that has other models.
    ///
    /// - Throws: `ModelDeclarationError` when a declaration has an error.
    public func replaceServer(models: [any Model.Type]) throws(ModelDeclarationError) {
        replaceServer(catalog: try ModelCatalog(models).schemas)
    }

    /// Replaces the server with one that has other models, over the same data, as an operator does by installing
    /// another build.
    ///
    /// Open hint streams end.
    public func replaceServer(catalog: SchemaCatalog) {
        self.catalog = catalog
        startServer()
    }

    /// The data of the server at one moment, as an operator's backup keeps them.
    public struct ServerBackup: Sendable {
        fileprivate let store: InMemoryAuthorityStore
    }

    /// Returns a copy of the server's data.
    public func backUpServer() -> ServerBackup {
        ServerBackup(store: store.copy())
    }

    /// Restores the server's data from a backup, without telling the devices. The first device that has seen more than
    /// the backup contains proves the loss, and the server begins a new history.
    ///
    /// Open hint streams end.
    public func restoreServer(_ backup: ServerBackup) {
        store = backup.store.copy()
        startServer()
    }

    private func startServer() {
        let former = authority
        authority = Self.authority(store, catalog, spaces)
        for device in devices { device.server.replace(authority: authority, catalog: catalog) }
        former.commits.finish()
    }

    private static func authority(
        _ store: InMemoryAuthorityStore, _ catalog: SchemaCatalog, _ spaces: Set<SpaceID>
    ) -> Authority {
        Authority(store: store, catalog: catalog, policy: AuthorityPolicy(access: .everyone(in: spaces)))
    }

    /// Runs a part of the application to its end, and advances virtual time whenever nothing else is left to do.
    ///
    /// - Parameter limit: the most virtual time that it may take.
    /// - Throws: any error that `body` throws, or a `SimulationError`.
    @discardableResult public func run<Value: Sendable>(
        limit: Duration = .seconds(3_600), _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        try simulation.run(limit: limit, body)
    }

    /// Advances virtual time.
    public func advance(by duration: Duration) throws {
        try simulation.advance(by: duration)
    }

    /// Advances virtual time until every device that is on and has a link is in sync with the server.
    ///
    /// - Throws: `TestbedError` with the name of a device that is still out of sync after `limit` of virtual time.
    public func settle(within limit: Duration = .seconds(1_200)) throws {
        let end = simulation.now + limit
        // The engine publishes a status only after it has handled an event.
        try simulation.advance(by: .milliseconds(1))
        while let laggard = devices.first(where: { $0.isConnected && !isInSync($0) }) {
            guard simulation.now < end else {
                throw TestbedError("\(laggard.name) is not in sync after \(limit): \(laggard.situation)")
            }
            try simulation.advance(by: .milliseconds(500))
        }
    }

    private func isInSync(_ device: TestbedDevice) -> Bool {
        guard let status = device.status, status.isInSync else { return false }
        return status.spaces.allSatisfy { space in
            let head = try? store.read { view in try view.extent(of: space.space).head }
            return head == space.version
        }
    }

    /// Ends the test and checks that no work is left.
    ///
    /// - Throws: `TestbedError` when a device that is on has unconfirmed transactions or active journal entries, or
    ///   when a script has steps that no call has taken; `SimulationError` when tasks do not end.
    public func finish() throws {
        let left = devices.flatMap(\.leftovers)
        for device in devices { device.stop() }
        try simulation.finish()
        guard left.isEmpty else { throw TestbedError(left.joined(separator: "; ")) }
    }
}

/// The work that a test left behind, or the state that it waited for in vain.
public struct TestbedError: Error, Hashable, Sendable, CustomStringConvertible {
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
