import SyncAuthority
import SyncConcurrency
public import SyncCore
public import SyncModel
public import SyncServerRules
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
    public var catalog: SchemaCatalog { application.catalog }
    /// The models of devices created without their own; empty if they are known by their schemas alone.
    private var models: ModelCatalog
    private let policy: SyncPolicy
    private let spaces: Set<SpaceID>
    private var store: InMemoryAuthorityStore
    private var authority: Authority
    /// The server's models and rules.
    private var application: ServerApplication
    private lazy var serverRuntime = simulation.makeRuntime(device: "server")
    private var devices: [TestbedDevice] = []

    /// Creates a testbed for an application's models, with a server and without devices.
    ///
    /// - Parameters:
    ///   - seed: decides the order of events wherever several orders are possible.
    ///   - models: the application's models.
    ///   - spaces: the spaces that every account reads and writes, and every device keeps in sync. If `rules` has its
    ///     own `authorizeSpaces`, that decides about the access.
    ///   - rules: sets the server's own rules, as the closure of `SyncServerProgram.main` does. A function that both
    ///     get tests the rules of the real server. `authenticate` is not called: each device has its account.
    /// - Throws: `ModelDeclarationError` when a declaration has an error, or a rule is for a model that is not in the
    ///   list.
    public convenience init(
        seed: UInt64 = 1, models: [any Model.Type], spaces: Set<SpaceID> = [.default],
        policy: SyncPolicy = SyncPolicy(), rules: (inout ServerApplication) -> Void = { _ in }
    ) throws(ModelDeclarationError) {
        self.init(
            seed: seed, application: try .configured(models, rules), models: try ModelCatalog(models), spaces: spaces,
            policy: policy)
    }

    /// Creates a testbed for schemas without models, for tests that write to the stores directly.
    public convenience init(
        seed: UInt64 = 1, catalog: SchemaCatalog, spaces: Set<SpaceID> = [.default], policy: SyncPolicy = SyncPolicy()
    ) {
        self.init(
            seed: seed, application: ServerApplication(catalog: catalog), models: ModelCatalog(), spaces: spaces,
            policy: policy)
    }

    private init(
        seed: UInt64, application: ServerApplication, models: ModelCatalog, spaces: Set<SpaceID>, policy: SyncPolicy
    ) {
        simulation = Simulation(seed: seed)
        self.application = application
        self.models = models
        self.policy = policy
        self.spaces = spaces
        store = InMemoryAuthorityStore(epoch: Epoch(rawValue: "testbed"))
        authority = Self.authority(store, application, spaces)
    }

    /// Adds a device that is on and has a link.
    ///
    /// - Parameters:
    ///   - account: the account of the device on the server; nil for an account with the name of the device. Devices of
    ///     one account have the same rights.
    ///   - spaces: the spaces that the device follows whenever it starts; nil for all spaces of the testbed. It may
    ///     follow others later.
    /// - Throws: `StoreError` when the store cannot be opened.
    public func device(
        _ name: String, account: String? = nil, following spaces: Set<SpaceID>? = nil
    ) throws(StoreError) -> TestbedDevice {
        try device(name, account: account, catalog: catalog, models: models, spaces: spaces)
    }

    /// Adds a device with an older or newer build of the application.
    ///
    /// - Throws: `ModelDeclarationError` when a declaration has an error, or `StoreError` when the store cannot be
    ///   opened.
    public func device(
        _ name: String, account: String? = nil, models: [any Model.Type]
    ) throws -> TestbedDevice {
        let models = try ModelCatalog(models)
        return try device(name, account: account, catalog: models.schemas, models: models)
    }

    /// Adds a device with an older or newer build that is known by its schemas alone.
    public func device(
        _ name: String, account: String? = nil, catalog: SchemaCatalog
    ) throws(StoreError) -> TestbedDevice {
        try device(name, account: account, catalog: catalog, models: ModelCatalog())
    }

    private func device(
        _ name: String, account: String?, catalog: SchemaCatalog, models: ModelCatalog, spaces: Set<SpaceID>? = nil
    ) throws(StoreError) -> TestbedDevice {
        let device = TestbedDevice(
            name: name, account: account ?? name, simulation: simulation, catalog: catalog, models: models,
            policy: policy, authority: authority, serverCatalog: self.catalog, review: review,
            spaces: spaces ?? self.spaces)
        try device.start()
        devices.append(device)
        return device
    }

    /// Replaces the server with one that has other models, over the same data, as an operator does by installing
    /// another build.
    ///
    /// Open hint streams end.
    ///
    /// - Parameter rules: sets the rules of the other build, which has none of the rules of the former one.
    /// - Throws: `ModelDeclarationError` when a declaration has an error, or a rule is for a model that is not in the
    ///   list.
    public func replaceServer(
        models: [any Model.Type], rules: (inout ServerApplication) -> Void = { _ in }
    ) throws(ModelDeclarationError) {
        (application, self.models) = (try .configured(models, rules), try ModelCatalog(models))
        startServer()
    }

    /// Replaces the server with one that has the models of a catalog, and no rules.
    ///
    /// Open hint streams end.
    public func replaceServer(catalog: SchemaCatalog) {
        application = ServerApplication(catalog: catalog)
        models = ModelCatalog()
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
        authority = Self.authority(store, application, spaces)
        for device in devices { device.server.replace(authority: authority, catalog: catalog, review: review) }
        former.commits.finish()
    }

    /// The rules of the server for pushes; nil for none.
    private var review: ApplicationReview? {
        application.hasRules ? ApplicationReview(application, serverRuntime, .silent) : nil
    }

    private static func authority(
        _ store: InMemoryAuthorityStore, _ application: ServerApplication, _ spaces: Set<SpaceID>
    ) -> Authority {
        Authority(
            store: store, catalog: application.catalog,
            policy: AuthorityPolicy(access: application.access ?? .everyone(in: spaces)))
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
    /// - Throws: `TestbedError` with the name of a device that is still out of sync after `limit` of virtual time;
    ///   `SimulationError` when the simulation cannot go on; `StoreError` when the store of a device cannot be read.
    public func settle(within limit: Duration = .seconds(1_200)) throws {
        let end = simulation.now + limit
        // The engine publishes a status only after it has handled an event.
        try simulation.advance(by: .milliseconds(1))
        while let device = try devices.first(where: { try $0.isConnected && !isInSync($0) }) {
            guard simulation.now < end else {
                throw TestbedError("\(device.name) is not in sync after \(limit): \(device.situation)")
            }
            try simulation.advance(by: .milliseconds(500))
        }
    }

    /// Whether a device has all commits of this server. The device cannot know whether the server is still the one that
    /// it has spoken with last.
    private func isInSync(_ device: TestbedDevice) throws -> Bool {
        guard let status = device.status, status.isInSync else { return false }
        return try device.store.session().spaces.allSatisfy { space in
            guard space.hasAccess else { return true }
            guard let cursor = space.cursor else { return false }
            return try authority.isAtHead(cursor)
        }
    }

    /// Ends the test and checks that no work is left.
    ///
    /// A device that is off is started for the check, and finds no server.
    ///
    /// - Throws: `TestbedError` when a device has unconfirmed transactions or active journal entries, or when a script
    ///   has steps that no call has taken; `SimulationError` when tasks do not end; a `StoreError` when the database of
    ///   a device that is off cannot be opened.
    public func finish() throws {
        for device in devices where !device.isOn {
            device.isOnline = false
            try device.start()
        }
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
