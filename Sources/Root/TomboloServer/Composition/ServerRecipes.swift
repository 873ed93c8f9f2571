public import Logging
public import SyncAuthority
public import SyncCore
public import SyncModel
public import SyncProgram
public import SyncServerHTTP

/// How each part of a server is made, in one place. As with `ClientRecipes`, a part that is not named does not compile.
public struct ServerRecipes: Sendable {
    public var machine: @Sendable (ServerSettings) -> EngineRuntime
    /// Opens the authority's store.
    public var authority:
        @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger, StoreOpening) throws(ConfigurationProblem)
            ->
            OpenAuthority
    /// Finds out who asks.
    public var authentication:
        @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger) throws(ConfigurationProblem) ->
            Authentication
    /// Makes the listener; nothing listens before it runs.
    public var listener: @Sendable (Service) throws -> ServerListener

    public init(
        machine: @escaping @Sendable (ServerSettings) -> EngineRuntime,
        authority:
            @escaping @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger, StoreOpening)
            throws(ConfigurationProblem) -> OpenAuthority,
        authentication:
            @escaping @Sendable (ServerSettings, ServerApplication, EngineRuntime, Logger) throws(ConfigurationProblem)
            -> Authentication,
        listener: @escaping @Sendable (Service) throws -> ServerListener
    ) {
        self.machine = machine
        self.authority = authority
        self.authentication = authentication
        self.listener = listener
    }

    /// How a store is opened that may not be there.
    public enum StoreOpening: Sendable {
        case makingIfMissing
        /// It is a problem: looking at a store must not begin one.
        case existing
    }

    /// The parts that a listener serves.
    public struct Service: Sendable {
        public let settings: ServerSettings
        public let application: ServerApplication
        public let authority: any AuthorityService
        public let authentication: Authentication
        public let runtime: EngineRuntime
        public let logger: Logger
    }
}

/// An authority whose store is open.
public struct OpenAuthority: Sendable {
    public let authority: Authority
    /// The models with which its records were written; nil when it remembers none.
    public let catalog: SchemaCatalog?
    public let close: @Sendable () -> Void

    public init(_ authority: Authority, catalog: SchemaCatalog? = nil, close: @escaping @Sendable () -> Void) {
        self.authority = authority
        self.catalog = catalog
        self.close = close
    }
}

/// Something that serves until it is told to stop.
public struct ServerListener: Sendable {
    /// Runs until a graceful shutdown is complete; tells its port once it answers.
    public let run: @Sendable (_ listening: @escaping @Sendable (_ port: Int) async -> Void) async throws -> Void

    public init(run: @escaping @Sendable (@escaping @Sendable (Int) async -> Void) async throws -> Void) {
        self.run = run
    }
}
