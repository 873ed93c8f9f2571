public import SyncCore
public import SyncModel
public import SyncProgram
import SyncReachabilityLinux
import SyncRuntimeLive
import SyncStoreSQLite
import SyncTransportHTTP

extension ClientRecipes {
    /// Returns the recipes for an environment.
    ///
    /// - Throws: when the adapters of the environment are not linked into this program.
    public static func picked(by environment: DeploymentEnvironment) throws(ConfigurationError) -> ClientRecipes {
        guard environment.choices.hasLiveAdapters else {
            throw ConfigurationError(
                "environment: \(environment) needs the test kit, which this program does not contain",
                advice: "use production, staging, development or test")
        }
        return live
    }

    /// The recipes of the production adapters: the system's clocks, a SQLite database, and HTTP.
    public static let live = ClientRecipes(machine: .live, store: .sqlite, remote: .http)
}

extension ClientRecipes.Machine {
    static let live = ClientRecipes.Machine(
        runtime: { _ in .live() },
        reachability: { LinuxReachability(serverIsLoopback: $0.server?.address.isLoopback ?? false) })
}

extension ClientRecipes.Store {
    static let sqlite = ClientRecipes.Store(
        open: { (settings, catalog, runtime, creating) throws(StoreError) in
            var configuration = StoreConfiguration(settings.store)
            configuration.createsIfMissing = creating
            var random = runtime.generator
            let store = try SQLiteStore.open(
                configuration, catalog: catalog, now: runtime.now(), random: &random)
            return OpenStore(
                store, recordings: store,
                watch: { () throws(StoreError) in
                    let watcher = try ExternalChangeWatcher(watching: store)
                    return { watcher.stop() }
                },
                requestSync: { () throws(StoreError) in try SyncLease.requestSync(file: settings.store.file) },
                verify: { () throws(StoreError) in try store.verify() }, close: { store.close() })
        },
        lease: { (settings, timeout) throws(StoreError) in
            switch try SyncLease.tryAcquire(file: settings.store.file, within: timeout) {
            case .acquired(let lease): .acquired(lease)
            case .held(let process): .held(by: process)
            }
        },
        salvage: { (settings, catalog, runtime) throws(StoreError) in
            var random = runtime.generator
            return try SQLiteStore.salvage(
                StoreConfiguration(settings.store), catalog: catalog, now: runtime.now(),
                random: &random, refusesOtherModels: true)
        })
}

extension ClientRecipes {
    /// Returns the models of the application that opened a device's database last; nil when there is no database, or
    /// when it has no stored models.
    ///
    /// - Parameter rule: returns the field rule of a name.
    /// - Throws: when there is a database that cannot be read, or whose stored models differ from its tables.
    public static func storedCatalog(
        of settings: ClientSettings, rule: (_ name: String) -> FieldRule?
    ) throws(StoreError) -> SchemaCatalog? {
        try SQLiteStore.storedCatalog(of: StoreConfiguration(settings.store), rule: rule)
    }

    /// Returns the models of a device's damaged database; nil when they cannot be read.
    ///
    /// - Parameters:
    ///   - known: catalogs to consider besides the models in the file. A catalog is returned only if the database
    ///     describes exactly its fields.
    ///   - rule: returns the field rule of a name.
    /// - Throws: when the file itself cannot be read.
    public static func recoveredCatalog(
        of settings: ClientSettings, known: [SchemaCatalog] = [], rule: (_ name: String) -> FieldRule?
    ) throws(StoreError) -> SchemaCatalog? {
        try SQLiteStore.recoveredCatalog(of: StoreConfiguration(settings.store), known: known, rule: rule)
    }
}

extension StoreConfiguration {
    fileprivate init(_ settings: ClientSettings.StoreSettings) {
        self.init(file: settings.file)
        durability = settings.durability
        limits.databaseBytes = Int64(settings.databaseBytes)
    }
}

extension ClientRecipes.Remote {
    static let http = ClientRecipes.Remote(
        connect: { (server, catalog, runtime) throws(ConfigurationError) in
            let configuration = HTTPTransportConfiguration(
                baseURL: server.address.description, connectTimeout: server.connectTimeout,
                readTimeout: server.requestTimeout, callTimeout: server.requestTimeout,
                trustedCertificates: server.certificateFile,
                // The settings reject an address without TLS, except on this machine or in an environment that allows
                // it.
                sendsTokenInPlainText: true)
            do {
                let token = server.token
                let transport = try HTTPTransport(
                    configuration: configuration, catalog: catalog, runtime: runtime,
                    token: {
                        if let bearer = server.bearer { return bearer() }
                        return token?.current?.secret
                    })
                return OpenTransport(transport) { try? await transport.shutdown() }
            } catch {
                throw ConfigurationError("server: \(error)")
            }
        })
}
