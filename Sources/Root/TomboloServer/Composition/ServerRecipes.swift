public import Logging
public import SyncAuthority
public import SyncCore
public import SyncModel
public import SyncProgram
public import SyncServerHTTP
public import SyncServerRules

/// The functions that create the parts of a server. As in `ClientRecipes`, the initializer requires every part.
public struct ServerRecipes: Sendable {
    /// Returns the clocks, the random source, and the executors.
    public var machine: @Sendable (ServerSettings) -> EngineRuntime
    /// Opens the store, and creates the authority over it.
    public var authority:
        @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger, StoreOpening) throws(ConfigurationError)
            ->
            OpenAuthority
    /// Returns the authenticator of requests.
    public var authentication:
        @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger) throws(ConfigurationError) ->
            Authentication
    /// Creates the listener, which does not listen until it runs.
    public var listener: @Sendable (Service) throws -> ServerListener

    /// Creates recipes from a function for each part.
    public init(
        machine: @escaping @Sendable (ServerSettings) -> EngineRuntime,
        authority:
            @escaping @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger, StoreOpening)
            throws(ConfigurationError) -> OpenAuthority,
        authentication:
            @escaping @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger) throws(ConfigurationError)
            -> Authentication,
        listener: @escaping @Sendable (Service) throws -> ServerListener
    ) {
        self.machine = machine
        self.authority = authority
        self.authentication = authentication
        self.listener = listener
    }

    /// How to open a store that may be missing.
    public enum StoreOpening: Sendable {
        /// A missing store is created.
        case creatingIfMissing
        /// A missing store is an error, because a command that only reads must not create one.
        case existing
        /// A missing store is an error, and other processes may serve the store, which is used for short transactions.
        case shared
        /// A missing store is an error, and other processes may serve the store, which is only read.
        case reading
    }

    /// The parts that a listener needs.
    public struct Service: Sendable {
        /// The settings of the server.
        public let settings: ServerSettings
        /// The models and the rules of the application.
        public let application: ServerApplication
        /// The service that answers the calls of the protocol.
        public let authority: any AuthorityService
        /// The authenticator of requests.
        public let authentication: Authentication
        /// The clocks, the random source, and the executors.
        public let runtime: EngineRuntime
        /// The registry of the metrics; nil counts nothing.
        package let metrics: PrometheusRegistry?
        /// The logger of all parts.
        public let logger: Logger
    }
}

/// An authority with an open store.
public struct OpenAuthority: Sendable {
    /// The authority.
    public let authority: Authority
    /// The models that are stored with the records; nil when none are stored.
    public let catalog: SchemaCatalog?
    /// Starts to publish the commits of other servers on the same store, and returns a closure that stops it. Nil for a
    /// store that only one server can use.
    public let follow: (@Sendable () throws -> @Sendable () -> Void)?
    /// Closes the store.
    public let close: @Sendable () -> Void

    /// Creates an open authority from its parts.
    public init(
        _ authority: Authority, catalog: SchemaCatalog? = nil,
        follow: (@Sendable () throws -> @Sendable () -> Void)? = nil,
        close: @escaping @Sendable () -> Void
    ) {
        self.authority = authority
        self.catalog = catalog
        self.follow = follow
        self.close = close
    }
}

/// A server that runs until it is told to stop.
public struct ServerListener: Sendable {
    /// Runs until a graceful shutdown is complete, and calls `listening` with the port once it accepts requests.
    public let run: @Sendable (_ listening: @escaping @Sendable (_ port: Int) async -> Void) async throws -> Void

    /// Creates a listener from the function that runs it.
    public init(run: @escaping @Sendable (@escaping @Sendable (Int) async -> Void) async throws -> Void) {
        self.run = run
    }
}
