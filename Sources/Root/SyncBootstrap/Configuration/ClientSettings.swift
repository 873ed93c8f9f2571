public import SyncCore
public import SyncModel
public import SyncProgram

/// The settings of a client, read once at the start.
public struct ClientSettings: Sendable {
    package let program: ProgramNames
    /// The environment, which determines whether the server must be addressed with TLS.
    public let environment: DeploymentEnvironment
    /// The least serious level of messages that are logged.
    public let logLevel: LogLevel
    /// The place and the limits of the local database.
    public let store: StoreSettings
    /// The server; nil when the device works alone.
    public var server: RemoteSettings?
    /// The limits and waits of the engine. Values that have no setting are adjusted to the configured ones.
    public let policy: SyncPolicy
    /// How long a graceful stop waits for requests in flight. Two seconds later, the services are cancelled.
    public var stopDeadline: Duration { policy.stopDeadline }
    /// The number of events that the flight recorder keeps. 0 turns it off.
    public let recorderEvents: Int

    /// The settings of the local database.
    public struct StoreSettings: Hashable, Sendable {
        /// The path of the folder that contains the database.
        public let folder: String
        /// The failures that a returned write survives: a crash of the program, or even a loss of power.
        public let durability: Durability
        /// Maximum size of the database for downloads, in bytes. Local writes continue beyond it.
        public let databaseBytes: Int

        /// The database file.
        public var file: String { folder + "/tombolo.sqlite" }
    }

    /// The settings of the connection to the server.
    public struct RemoteSettings: Sendable {
        /// The base URL of the server.
        public let address: ServerAddress
        /// The source of the bearer token; nil when none is configured.
        public let token: TokenSource?
        /// The reason why the token file could not be used at the start; nil if there is none. Only operations that
        /// need the server fail then.
        public let tokenProblem: ConfigurationError?
        /// Whether a transport can be created in spite of `tokenProblem`. It sends no token until the file has one.
        public var waitsForToken = false
        /// Returns the application's current token, or nil while there is none. If this closure is set, `token` is not
        /// used.
        public var bearer: (@Sendable () -> String?)?
        /// The path of a PEM file with the certificates to trust; nil for those of the system.
        public let certificateFile: String?
        /// Longest time to establish a connection.
        public let connectTimeout: Duration
        /// Longest time to wait for the response to a request.
        public var requestTimeout: Duration
    }

    /// Reads the settings, and checks them against each other.
    package init(_ configuration: ResolvedConfiguration<ClientKeys>) throws(ConfigurationError) {
        let keys = configuration.values
        program = configuration.program
        environment = keys.environment
        logLevel = keys.logLevel
        store = StoreSettings(
            folder: try configuration.required(keys.folder, "store.folder"), durability: keys.durability,
            databaseBytes: keys.databaseBytes)
        server = try keys.url.map { url throws(ConfigurationError) in try RemoteSettings(keys, url) }
        policy = keys.policy.consistent
        recorderEvents = keys.recorderEvents
    }
}

extension ClientSettings.RemoteSettings {
    init(_ keys: ClientKeys, _ address: ServerAddress) throws(ConfigurationError) {
        if keys.environment.choices.requiresTLS, !address.isEncrypted, !address.isLoopback {
            throw ConfigurationError(
                "server.url: \(address) is not encrypted, and the environment \(keys.environment) sends nothing over a network in plain text",
                advice: "use https, or the environment development")
        }
        if keys.tokenFile != nil, keys.token != nil {
            throw ConfigurationError("server.token and server.token-file are both given; expected one of them")
        }
        self.address = address
        do throws(ConfigurationError) {
            token =
                try keys.tokenFile.map { path throws(ConfigurationError) in try TokenSource(file: path) }
                ?? keys.token.map { TokenSource(Token($0)) }
            tokenProblem = nil
        } catch {
            token = keys.tokenFile.map { TokenSource(awaiting: $0) }
            tokenProblem = error
        }
        certificateFile = keys.certificateFile
        connectTimeout = keys.connectTimeout
        requestTimeout = keys.policy.requestDeadline
    }
}

extension SyncPolicy {
    /// This policy, with the values that have no setting adjusted to those that have one, and a cap of the backoff that
    /// is not below its initial wait.
    fileprivate var consistent: SyncPolicy {
        var policy = self
        policy.pollIntervalWithHints = max(pollInterval, pollIntervalWithHints)
        policy.smallestPage = min(smallestPage, pageRows)
        policy.backoff.cap = max(backoff.cap, backoff.initial)
        policy.backoff.floor = min(backoff.floor, backoff.initial)
        return policy
    }
}
