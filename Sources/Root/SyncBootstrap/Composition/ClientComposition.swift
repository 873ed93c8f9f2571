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
    public let settings: ClientSettings
    public let logger: Logger
    private let recipes: ClientRecipes
    private let createsStore: Bool
    /// Whether anything can confirm what is written here.
    public let hasServer: Bool

    private var openStore: OpenStore?
    private var openTransport: OpenTransport?
    private var madeEngine: SyncEngine?
    /// The models of the application, for its live objects.
    public let models: ModelCatalog
    /// The schemas of the database: those of the models, unless a program serves the database of any application.
    public private(set) var catalog: SchemaCatalog
    /// The damage that kept the database's own models from being read; nil when `catalog` can be trusted.
    private var catalogDamage: StoreError?
    private var madeObjects: LiveObjects?

    /// Creates a composition without opening anything.
    ///
    /// - Parameters:
    ///   - catalogDamage: the damage that kept the models of the database from being read. The database cannot be opened
    ///     then, only salvaged, because it would get the tables of other models.
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

    public private(set) lazy var runtime: EngineRuntime = recipes.machine.runtime(settings)

    public private(set) lazy var reachability: any Reachability = recipes.machine.reachability(settings)

    // MARK: Store

    public var store: any EngineStore & LocalStore {
        get throws(StoreError) { try opened.store }
    }

    /// The live objects over the store.
    ///
    /// There is one set per client, so that a record has one live object. Without a server, the store alone confirms
    /// writes.
    public var objects: LiveObjects {
        get throws(StoreError) {
            if let madeObjects { return madeObjects }
            let source = StoredSource(store: try store, server: hasServer ? .inStep : .none)
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

    /// Adds spaces to those that the device keeps in sync. Known ones are left alone.
    public func follow(_ spaces: [SpaceID]) throws(StoreError) {
        let store = try opened.store
        for space in spaces { try store.follow(space) }
    }

    /// Checks the whole database for damage. Takes seconds for gigabytes.
    ///
    /// - Throws: `corrupt`, with the first finding.
    public func verifyStore() throws(StoreError) {
        try opened.verify()
    }

    /// Throws if the last contact ended because the server contradicts the database.
    ///
    /// If the server keeps contradicting an undamaged database, the numbers in the database may still be wrong. A new
    /// database, as `salvageStore(for:)` makes one, agrees with the server in both cases.
    ///
    /// - Throws: `contradiction`, with the server's message.
    public func requireAgreement() throws(StoreError) {
        guard let failure = try store.contact().lastFailure,
            failure.code == StoreError.Code.contradiction.rawValue
        else { return }
        throw StoreError(.contradiction, "the server contradicts this database: \(failure.message)")
    }

    /// Begins to report what other processes write to the store's observers.
    ///
    /// - Returns: a closure that ends it.
    package func watchOtherProcesses() throws(StoreError) -> @Sendable () -> Void {
        try opened.watch()
    }

    /// Tries to become the one process that syncs this database. It outlives the composition.
    package var leasing: @Sendable () throws(StoreError) -> LeaseAttempt {
        let (recipes, settings) = (recipes, settings)
        return { () throws(StoreError) in try recipes.store.lease(settings, .zero) }
    }

    /// Closes the store alone, when making another part has failed.
    package func closeStore() {
        openStore?.close()
        openStore = nil
    }

    /// Closes what has been made, in the reverse order. It outlives the composition.
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

    /// Tries to become the only process that syncs this database.
    public func acquireLease(within timeout: Duration = .zero) throws(StoreError) -> LeaseAttempt {
        try recipes.store.lease(settings, timeout)
    }

    // MARK: Remote

    public var transport: any RemoteTransport {
        get throws(ConfigurationError) {
            if let openTransport { return openTransport.transport }
            guard let server = settings.server else {
                throw ConfigurationError(
                    "no server is configured: server.url is not set",
                    advice: "set \(settings.program.variable("server.url")), or server.url in the configuration file")
            }
            if server.bearer == nil, let problem = server.tokenProblem { throw problem }
            let made = try recipes.remote.connect(server, catalog, runtime)
            openTransport = made
            return made.transport
        }
    }

    // MARK: Engine

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

    /// - Parameter watch: begins to report what other processes write, for as long as the services run.
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
