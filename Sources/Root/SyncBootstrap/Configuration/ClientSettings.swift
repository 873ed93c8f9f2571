public import SyncCore

/// The settings of a client, read once at the start.
public struct ClientSettings: Sendable {
    public let environment: Environment
    public let logLevel: LogLevel
    public let store: StoreSettings
    /// The server; nil when the device works alone.
    public var server: RemoteSettings?
    public let policy: SyncPolicy
    public let stopDeadline: Duration
    /// The number of events that the flight recorder keeps. 0 turns it off.
    public let recorderEvents: Int

    public struct StoreSettings: Hashable, Sendable {
        public let folder: String
        public let durability: Durability

        /// The database file.
        public var file: String { folder + "/tombolo.sqlite" }
    }

    public struct RemoteSettings: Sendable {
        public let address: ServerAddress
        public let token: TokenSource?
        /// Returns the token of the application, which then replaces `token`.
        public var bearer: (@Sendable () -> String?)?
        public let certificateFile: String?
        public let connectTimeout: Duration
        public var requestTimeout: Duration
    }

    public init(_ configuration: ResolvedConfiguration) throws(ConfigurationProblem) {
        environment = configuration.environment
        logLevel = try configuration.required(ConfigurationKeys.logLevel)
        store = StoreSettings(
            folder: try configuration.path(ConfigurationKeys.storeFolder),
            durability: try configuration.required(ConfigurationKeys.storeDurability))
        server = try RemoteSettings(configuration)
        policy = try SyncPolicy(configuration)
        stopDeadline = try configuration.required(ConfigurationKeys.syncStopDeadline)
        recorderEvents = try configuration.required(ConfigurationKeys.recorderEvents)
    }
}

extension ClientSettings.RemoteSettings {
    /// Reads the server's settings; nil when no server is configured.
    init?(_ configuration: ResolvedConfiguration) throws(ConfigurationProblem) {
        guard let address = configuration.optional(ConfigurationKeys.serverURL) else { return nil }
        if configuration.environment.choices.requiresTLS, !address.isEncrypted, !address.isLoopback {
            throw ConfigurationProblem(
                "server.url: \(address) is not encrypted, and the environment \(configuration.environment) sends nothing over a network in plain text",
                advice: "use https, or the environment development")
        }
        let file = try configuration.optionalPath(ConfigurationKeys.serverTokenFile)
        let given = configuration.optional(ConfigurationKeys.serverToken)
        if file != nil, given != nil {
            throw ConfigurationProblem("server.token and server.token-file are both given; expected one of them")
        }
        self.address = address
        token =
            try file.map { path throws(ConfigurationProblem) in try TokenSource(file: path) }
            ?? given.map { TokenSource(Token($0)) }
        certificateFile = try configuration.optionalPath(ConfigurationKeys.serverCAFile)
        connectTimeout = try configuration.required(ConfigurationKeys.serverConnectTimeout)
        requestTimeout = try configuration.required(ConfigurationKeys.serverRequestTimeout)
    }
}

extension SyncPolicy {
    init(_ configuration: ResolvedConfiguration) throws(ConfigurationProblem) {
        self.init()
        pollInterval = try configuration.required(ConfigurationKeys.syncPollInterval)
        pollIntervalWithHints = max(pollInterval, pollIntervalWithHints)
        requestDeadline = try configuration.required(ConfigurationKeys.serverRequestTimeout)
        stopDeadline = try configuration.required(ConfigurationKeys.syncStopDeadline)
        batch = BatchLimit(
            transactions: try configuration.required(ConfigurationKeys.syncBatchTransactions),
            bytes: try configuration.required(ConfigurationKeys.syncBatchBytes))
        pageRows = try configuration.required(ConfigurationKeys.syncPageRows)
        smallestPage = min(smallestPage, pageRows)
        listensForHints = try configuration.required(ConfigurationKeys.syncHints)
        backoff.initial = try configuration.required(ConfigurationKeys.syncBackoffInitial)
        backoff.cap = max(try configuration.required(ConfigurationKeys.syncBackoffCap), backoff.initial)
        backoff.floor = min(backoff.floor, backoff.initial)
    }
}
