public import Logging
public import SyncCore
public import SyncModel
public import SyncObjects
import SyncProgram
import SyncRecording
public import TomboloModeling

/// A client composed from its settings. Each part is created on first use and then kept.
///
/// Not `Sendable`: a composition belongs to the task that starts the program, so no two threads can create a part
/// twice. The parts themselves are `Sendable`.
public final class ClientComposition {
    /// The settings that the recipes get.
    public let settings: ClientSettings
    /// The logger of the engine and of the services.
    public let logger: Logger
    private let recipes: ClientRecipes
    private let createsStore: Bool
    /// Whether a server can confirm writes: one is configured, or a transport was passed to the initializer.
    public let hasServer: Bool

    private var openStore: OpenStore?
    private var openTransport: OpenTransport?
    private var madeEngine: SyncEngine?
    /// The models of the application, for its live objects.
    public let models: ModelCatalog
    /// The schemas of the database. They differ from those of `models` in a program that opens the database of any
    /// application, such as `syncctl`.
    public private(set) var catalog: SchemaCatalog
    /// The error that kept the database's own models from being read, which is damage or a newer build; nil when
    /// `catalog` is reliable.
    private var catalogDamage: StoreError?
    private var madeObjects: LiveObjects?

    /// Creates a composition without opening anything.
    ///
    /// - Parameters:
    ///   - catalog: the schemas of the database; nil for those of `models`.
    ///   - catalogDamage: the error that kept the database's own models from being read; nil if there was none. With an
    ///     error, the database can only be salvaged: opening it would add the tables of other models.
    ///   - creatingStore: whether to create the database if it is missing.
    public init(
        settings: ClientSettings, models: ModelCatalog, catalog: SchemaCatalog? = nil,
        catalogDamage: StoreError? = nil, recipes: ClientRecipes,
        logger: Logger, creatingStore: Bool, transport: (any RemoteTransport)? = nil
    ) {
        self.catalog = catalog ?? models.schemas
        self.catalogDamage = catalogDamage
        self.settings = settings
        self.models = models
        self.recipes = recipes
        self.logger = logger
        createsStore = creatingStore
        openTransport = transport.map { OpenTransport($0, close: {}) }
        hasServer = transport != nil || settings.server != nil
    }

    // MARK: Machine

    /// The clocks, random source, and executors that all other parts use.
    public private(set) lazy var runtime: EngineRuntime = recipes.machine.runtime(settings)

    /// The source of the network state. It notices no changes until the services run.
    public private(set) lazy var reachability: any Reachability = recipes.machine.reachability(settings)

    // MARK: Store

    /// The local store, which follows the space `default` from its first use on.
    ///
    /// - Throws: `missingFile` when there is no database and none is to be created, or the reason why the database
    ///   cannot be opened.
    public var store: any EngineStore & LocalStore {
        get throws(StoreError) { try opened.store }
    }

    /// The live objects over the store.
    ///
    /// There is one set per client, so that a record has one live object. Without a server, waiting for the
    /// confirmation of a write throws `noServer`.
    public var objects: LiveObjects {
        get throws(StoreError) {
            if let madeObjects { return madeObjects }
            let source = StoredSource(store: try store, server: hasServer ? .synced : .none)
            let made = LiveObjects(source: source, models: models, runtime: runtime)
            madeObjects = made
            return made
        }
    }

    /// The flight recorder's ring, even if recording is turned off.
    public var recordings: any RecordingStore {
        get throws(StoreError) { try opened.recordings }
    }

    private var opened: OpenStore {
        get throws(StoreError) {
            if let openStore { return openStore }
            if let catalogDamage { throw catalogDamage }
            let made = try recipes.store.open(settings, catalog, runtime, createsStore)
            openStore = made
            try made.store.follow(.default)
            return made
        }
    }

    /// Adds spaces to those that the device follows. Spaces that it follows already stay unchanged.
    public func follow(_ spaces: [SpaceID]) throws(StoreError) {
        let store = try opened.store
        for space in spaces { try store.follow(space) }
    }

    /// Checks the whole database for damage, which takes seconds for a database of gigabytes.
    ///
    /// Damage that a sync has found counts until a later sync succeeds, even if it cannot be found again: a failing
    /// disk does not return the same bytes each time.
    ///
    /// - Throws: `corrupt`, with the first finding.
    public func verifyStore() throws(StoreError) {
        try opened.verify()
        guard let failure = try store.contact().lastFailure?.storeError,
            [.corrupt, .notADatabase].contains(failure.code)
        else { return }
        throw StoreError(.corrupt, "the last sync found damage: \(failure.message)")
    }

    /// Throws if the last contact ended because the server contradicted the database, or was at an earlier version than
    /// it has confirmed.
    ///
    /// The file of such a database may be undamaged and still hold wrong versions. `salvageStore(for:)` replaces it
    /// with a new database, which downloads the server's data again.
    ///
    /// - Throws: `contradiction`, with the server's message.
    public func requireAgreement() throws(StoreError) {
        guard let failure = try store.contact().lastFailure,
            [ServerContact.Failure.contradiction, ServerContact.Failure.historyInDoubt].contains(failure.code)
        else { return }
        throw StoreError(.contradiction, "the server contradicts this database: \(failure.message)")
    }

    /// Starts to notify the store's observers of the writes of other processes.
    ///
    /// - Returns: a closure that stops these notifications.
    package func watchOtherProcesses() throws(StoreError) -> @Sendable () -> Void {
        try opened.watch()
    }

    /// A function that tries to become the only process that syncs this database. It does not retain the composition.
    package var leasing: @Sendable () throws(StoreError) -> LeaseAttempt {
        let (recipes, settings) = (recipes, settings)
        return { () throws(StoreError) in try recipes.store.lease(settings, .zero) }
    }

    /// Closes the store alone, when making another part has failed.
    package func closeStore() {
        openStore?.close()
        openStore = nil
    }

    /// A function that closes the parts that are open now, in reverse order. It does not retain the composition.
    package var closing: @Sendable () async -> Void {
        let (transport, store) = (openTransport, openStore)
        return {
            await transport?.close()
            store?.close()
        }
    }

    /// Closes the database, and replaces it with a new one that contains everything readable that only this device has.
    ///
    /// The next use opens the new database.
    ///
    /// - Parameter catalog: the models of the new database.
    /// - Throws: `busy` when another process has the database open; `otherSchema` when an unconfirmed write changes a
    ///   collection that `catalog` lacks.
    public func salvageStore(for catalog: SchemaCatalog) throws(StoreError) -> SalvageReport {
        madeObjects = nil
        openStore?.close()
        openStore = nil
        let report = try recipes.store.salvage(settings, catalog, runtime)
        self.catalog = catalog
        catalogDamage = nil
        return report
    }

    /// Tries to become the only process that syncs this database, and waits up to `timeout`.
    public func acquireLease(within timeout: Duration = .zero) throws(StoreError) -> LeaseAttempt {
        try recipes.store.lease(settings, timeout)
    }

    /// Asks the process that syncs this database to sync now, as a person who requests a sync would.
    public func requestSyncElsewhere() throws(StoreError) {
        try opened.requestSync()
    }

    // MARK: Remote

    /// The transport that was passed to the initializer, or else the one to the configured server.
    ///
    /// - Throws: `ConfigurationError` when no server is configured, or when its settings or its token cannot be used.
    public var transport: any RemoteTransport {
        get throws(ConfigurationError) {
            if let openTransport { return openTransport.transport }
            guard let server = settings.server else {
                throw ConfigurationError(
                    "no server is configured: server.url is not set",
                    advice: "set \(settings.program.variable("server.url")), or server.url in the configuration file")
            }
            if server.bearer == nil, !server.waitsForToken, let problem = server.tokenProblem { throw problem }
            let made = try recipes.remote.connect(server, catalog, runtime)
            openTransport = made
            return made.transport
        }
    }

    // MARK: Engine

    /// The engine that syncs the store. It does nothing until the services run.
    ///
    /// - Throws: `StoreError` when the store cannot be opened, or `ConfigurationError` as `transport` does.
    public var engine: SyncEngine {
        get throws {
            if let madeEngine { return madeEngine }
            let made = SyncEngine(
                store: try store, commands: TransportCommands(try transport), reachability: reachability,
                runtime: runtime,
                policy: settings.policy, logger: logger, recorder: try recorder())
            madeEngine = made
            return made
        }
    }

    private func recorder() throws(StoreError) -> RingRecorder? {
        guard settings.recorderEvents > 0 else { return nil }
        return RingRecorder(
            store: try recordings, turns: settings.recorderEvents, salt: (runtime.random(), runtime.random()),
            logger: logger)
    }

    /// Returns the services of a client that syncs. Only the holder of the lease may run them.
    ///
    /// - Parameter handlesSignals: whether SIGTERM and SIGINT stop them gracefully.
    public func services(handlesSignals: Bool) throws -> ClientServices {
        try services(handlesSignals: handlesSignals, watch: try opened.watch)
    }

    /// Returns the services of a client that syncs, with a replacement for the watch over the writes of other
    /// processes.
    ///
    /// - Parameter watch: starts to report these writes, and returns a closure that stops the reports.
    package func services(
        handlesSignals: Bool, watch: @escaping @Sendable () throws(StoreError) -> @Sendable () -> Void
    ) throws -> ClientServices {
        ClientServices(
            engine: try engine, watch: watch, reachability: reachability,
            token: settings.server?.token, clock: runtime.clock, deadline: settings.stopDeadline,
            handlesSignals: handlesSignals, logger: logger)
    }

    /// Closes the parts that were opened, in reverse order.
    public func close() async {
        madeEngine = nil
        madeObjects = nil
        await openTransport?.close()
        openTransport = nil
        openStore?.close()
        openStore = nil
    }
}
