public import SyncCore
public import SyncModel
public import SyncProgram

/// The functions that create the parts of a client, grouped by domain.
///
/// The initializer requires every part, so leaving one out does not compile. Start from `live` and replace one or two
/// parts. Fakes come from the test kit, which no program links.
public struct ClientRecipes: Sendable {
    /// Creates the runtime (clocks, random numbers, and executors) and the source of the network state.
    public var machine: Machine
    /// Opens the local store, and takes its lease.
    public var store: Store
    /// Creates the transport to the server.
    public var remote: Remote

    /// Creates recipes from all three groups.
    public init(machine: Machine, store: Store, remote: Remote) {
        self.machine = machine
        self.store = store
        self.remote = remote
    }

    /// Time, randomness, threads, and network links.
    public struct Machine: Sendable {
        /// Returns the runtime of all parts of the client.
        public var runtime: @Sendable (ClientSettings) -> EngineRuntime
        /// Returns the source of the network state, which runs with the engine.
        public var reachability: @Sendable (ClientSettings) -> any Reachability

        /// Creates the recipes of a machine. A composition calls each at most once.
        public init(
            runtime: @escaping @Sendable (ClientSettings) -> EngineRuntime,
            reachability: @escaping @Sendable (ClientSettings) -> any Reachability
        ) {
            self.runtime = runtime
            self.reachability = reachability
        }
    }

    /// The local store, and the lease to sync it.
    public struct Store: Sendable {
        /// Opens the database. Creates it only if `creating` is true.
        public var open:
            @Sendable (ClientSettings, SchemaCatalog, EngineRuntime, _ creating: Bool) throws(StoreError) -> OpenStore
        /// Tries to take the lease, and waits for it up to the given duration.
        public var lease: @Sendable (ClientSettings, Duration) throws(StoreError) -> LeaseAttempt
        /// Replaces a damaged database, which must be closed, with a new one that contains its readable data. Throws if
        /// an unconfirmed write needs a collection that the catalog lacks.
        public var salvage: @Sendable (ClientSettings, SchemaCatalog, EngineRuntime) throws(StoreError) -> SalvageReport

        /// Creates the recipes of a store. They all use the database of the settings.
        public init(
            open:
                @escaping @Sendable (ClientSettings, SchemaCatalog, EngineRuntime, Bool) throws(StoreError) ->
                OpenStore,
            lease: @escaping @Sendable (ClientSettings, Duration) throws(StoreError) -> LeaseAttempt,
            salvage:
                @escaping @Sendable (ClientSettings, SchemaCatalog, EngineRuntime) throws(StoreError) -> SalvageReport
        ) {
            self.open = open
            self.lease = lease
            self.salvage = salvage
        }
    }

    /// The connection to the server.
    public struct Remote: Sendable {
        /// Creates the transport without waiting for the server. Throws if the settings cannot be used.
        public var connect:
            @Sendable (ClientSettings.RemoteSettings, SchemaCatalog, EngineRuntime) throws(ConfigurationError) ->
                OpenTransport

        /// Creates the recipe of a connection.
        ///
        /// - Parameter connect: creates the transport when the client first needs the server.
        public init(
            connect:
                @escaping @Sendable (ClientSettings.RemoteSettings, SchemaCatalog, EngineRuntime)
                throws(ConfigurationError) ->
                OpenTransport
        ) {
            self.connect = connect
        }
    }
}

/// An open local store.
public struct OpenStore: Sendable {
    /// The store. All calls are synchronous, and may come from any thread.
    public let store: any EngineStore & LocalStore
    /// The flight recorder's ring in the same database.
    public let recordings: any RecordingStore
    /// Starts to publish the commits of other processes, and their requests for a sync, to the store's observers.
    /// Returns a function that stops the publishing.
    public let watch: @Sendable () throws(StoreError) -> @Sendable () -> Void
    /// Asks the process that syncs the database to sync now.
    public let requestSync: @Sendable () throws(StoreError) -> Void
    /// Checks the whole file for damage, and throws `corrupt` with the first finding.
    public let verify: @Sendable () throws(StoreError) -> Void
    /// Closes the store, which must not be used afterward.
    public let close: @Sendable () -> Void

    /// Wraps an open store.
    ///
    /// - Parameters:
    ///   - recordings: the flight recorder's ring in the same database.
    ///   - watch: starts to publish the commits of other processes and their requests for a sync, and returns a
    ///     function that stops it.
    ///   - requestSync: asks the process that syncs the database to sync now. By default, that process syncs when it
    ///     would anyway.
    ///   - verify: checks the whole file, and throws `corrupt` with the first finding.
    ///   - close: closes the store.
    public init(
        _ store: any EngineStore & LocalStore,
        recordings: any RecordingStore,
        watch: @escaping @Sendable () throws(StoreError) -> @Sendable () -> Void,
        requestSync: @escaping @Sendable () throws(StoreError) -> Void = {},
        verify: @escaping @Sendable () throws(StoreError) -> Void,
        close: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.recordings = recordings
        self.watch = watch
        self.requestSync = requestSync
        self.verify = verify
        self.close = close
    }
}

/// An open transport, which must be closed at the end.
public struct OpenTransport: Sendable {
    /// The transport, for any number of requests at a time.
    public let transport: any RemoteTransport
    /// Closes the transport, which must not be used afterward.
    public let close: @Sendable () async -> Void

    /// Wraps an open transport.
    ///
    /// - Parameter close: closes the transport, which is not used afterward.
    public init(_ transport: any RemoteTransport, close: @escaping @Sendable () async -> Void) {
        self.transport = transport
        self.close = close
    }
}

/// The result of an attempt to take the lease of a database (I24).
public enum LeaseAttempt: Sendable {
    /// This process may sync, for as long as it holds the value.
    case acquired(any Sendable)
    /// Another process syncs the database. The value is its process id, if known.
    case held(by: Int32?)
}
