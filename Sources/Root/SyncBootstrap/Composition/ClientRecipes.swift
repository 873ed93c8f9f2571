public import SyncCore
public import SyncProgram

/// How each part of a client is made: all its dependencies, named in one place and grouped by domain.
///
/// Every part has to be named to make a value of this type, so a missing one does not compile. Take `live` and replace
/// the one or two parts that matter; a fake comes from the test kit, which no program links.
public struct ClientRecipes: Sendable {
    public var machine: Machine
    public var store: Store
    public var remote: Remote

    public init(machine: Machine, store: Store, remote: Remote) {
        self.machine = machine
        self.store = store
        self.remote = remote
    }

    /// Time, chance, threads, links.
    public struct Machine: Sendable {
        public var runtime: @Sendable (ClientSettings) -> EngineRuntime
        public var reachability: @Sendable (ClientSettings) -> any Reachability

        public init(
            runtime: @escaping @Sendable (ClientSettings) -> EngineRuntime,
            reachability: @escaping @Sendable (ClientSettings) -> any Reachability
        ) {
            self.runtime = runtime
            self.reachability = reachability
        }
    }

    /// The local cache, and the right to sync it.
    public struct Store: Sendable {
        /// Opens the database; makes it only when told to.
        public var open: @Sendable (ClientSettings, EngineRuntime, _ creating: Bool) throws(StoreFailure) -> OpenStore
        /// Tries to take the lease, for so long.
        public var lease: @Sendable (ClientSettings, Duration) throws(StoreFailure) -> LeaseAttempt
        /// Replaces a damaged database, which is not open, by a new one with what can be read of it.
        public var salvage: @Sendable (ClientSettings, EngineRuntime) throws(StoreFailure) -> SalvageReport

        public init(
            open: @escaping @Sendable (ClientSettings, EngineRuntime, Bool) throws(StoreFailure) -> OpenStore,
            lease: @escaping @Sendable (ClientSettings, Duration) throws(StoreFailure) -> LeaseAttempt,
            salvage: @escaping @Sendable (ClientSettings, EngineRuntime) throws(StoreFailure) -> SalvageReport
        ) {
            self.open = open
            self.lease = lease
            self.salvage = salvage
        }
    }

    /// The way to the server.
    public struct Remote: Sendable {
        public var connect:
            @Sendable (ClientSettings.RemoteSettings, EngineRuntime) throws(ConfigurationProblem) -> OpenTransport

        public init(
            connect:
                @escaping @Sendable (ClientSettings.RemoteSettings, EngineRuntime) throws(ConfigurationProblem) ->
                OpenTransport
        ) {
            self.connect = connect
        }
    }
}

/// A local cache that is open.
public struct OpenStore: Sendable {
    public let store: any EngineStore & LocalStore
    /// The flight recorder's ring in the same database.
    public let recordings: any RecordingStore
    /// Begins to tell the store's observers of what other processes write, and gives what ends that.
    public let watch: @Sendable () throws(StoreFailure) -> @Sendable () -> Void
    /// Reads the whole file for damage, and throws `corrupt` with the first finding.
    public let verify: @Sendable () throws(StoreFailure) -> Void
    /// Closes it; nothing may use it afterwards.
    public let close: @Sendable () -> Void

    public init(
        _ store: any EngineStore & LocalStore,
        recordings: any RecordingStore,
        watch: @escaping @Sendable () throws(StoreFailure) -> @Sendable () -> Void,
        verify: @escaping @Sendable () throws(StoreFailure) -> Void,
        close: @escaping @Sendable () -> Void
    ) {
        self.store = store
        self.recordings = recordings
        self.watch = watch
        self.verify = verify
        self.close = close
    }
}

/// A way to a server that has to be closed at the end.
public struct OpenTransport: Sendable {
    public let transport: any RemoteTransport
    public let close: @Sendable () async -> Void

    public init(_ transport: any RemoteTransport, close: @escaping @Sendable () async -> Void) {
        self.transport = transport
        self.close = close
    }
}

/// Whether this process may sync the database (I24).
public enum LeaseAttempt: Sendable {
    /// It may, for as long as it holds the value.
    case acquired(any Sendable)
    /// Another process does, with this id when it is known.
    case held(by: Int32?)
}
