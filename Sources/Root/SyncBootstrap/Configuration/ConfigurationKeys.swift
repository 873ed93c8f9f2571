import SyncAuthority

/// All configuration keys, in the order in which they are shown.
public enum ConfigurationKeys {
    static let environment = ConfigurationKey<Environment>.choice(
        "environment", "Environment that selects the adapters and the defaults.", default: .fixed("production"),
        for: [.syncctl, .syncd])
    static let logLevel = ConfigurationKey<LogLevel>.choice(
        "log.level", "Lowest level of the messages written to standard error.",
        default: .logLevelOfEnvironment, for: [.syncctl, .syncd])

    // MARK: The client's store

    static let storeFolder = ConfigurationKey<String>.path(
        "store.folder", "Folder of this device's database.", default: .homeFolder("tombolo"), for: [.syncctl])
    static let storeDurability = ConfigurationKey<Durability>.choice(
        "store.durability",
        "Failures that a returned write survives. normal: a crash of the program. full: also a power loss.",
        default: .fixed("normal"), for: [.syncctl])

    // MARK: The connection to the server

    static let serverURL = ConfigurationKey<ServerAddress>.url(
        "server.url", "URL of the sync server. Without it, the device works alone.", for: [.syncctl])
    static let serverToken = ConfigurationKey<String>.text(
        "server.token", "Bearer token of this device. Prefer server.token-file.",
        isSecret: true, for: [.syncctl])
    static let serverTokenFile = ConfigurationKey<String>.path(
        "server.token-file", "File whose first line is the bearer token of this device.",
        for: [.syncctl])
    static let serverCAFile = ConfigurationKey<String>.path(
        "server.ca-file", "File of certificates (PEM) to trust instead of the system's.", for: [.syncctl])
    static let serverConnectTimeout = ConfigurationKey<Duration>.duration(
        "server.connect-timeout", "Longest time to establish a connection.", in: .milliseconds(100) ... .seconds(300),
        default: .seconds(10), for: [.syncctl])
    static let serverRequestTimeout = ConfigurationKey<Duration>.duration(
        "server.request-timeout", "Longest time to wait for a response.", in: .seconds(1) ... .seconds(600),
        default: .seconds(30), for: [.syncctl])

    // MARK: The engine

    static let syncPollInterval = ConfigurationKey<Duration>.duration(
        "sync.poll-interval", "Time between two pulls when no hint arrives.",
        in: .seconds(1) ... .seconds(86_400), default: .seconds(30), for: [.syncctl])
    static let syncHints = ConfigurationKey<Bool>.boolean(
        "sync.hints", "Whether to keep a stream of hints open, so that changes arrive at once.", default: true,
        for: [.syncctl])
    static let syncBatchTransactions = ConfigurationKey<Int>.integer(
        "sync.batch-transactions", "Maximum number of transactions in one push.", in: 1...1_000, unit: "transactions",
        default: 200, for: [.syncctl])
    static let syncBatchBytes = ConfigurationKey<Int>.integer(
        "sync.batch-bytes", "Maximum size of one push.", in: 1_024...4_194_304, unit: "bytes",
        default: 524_288, for: [.syncctl])
    static let syncPageRows = ConfigurationKey<Int>.integer(
        "sync.page-rows", "Maximum number of rows in one page of a pull.", in: 1...10_000, unit: "rows", default: 1_000,
        for: [.syncctl])
    static let syncBackoffInitial = ConfigurationKey<Duration>.duration(
        "sync.backoff-initial", "Longest wait after the first failure. It doubles with each further failure.",
        in: .milliseconds(10) ... .seconds(60), default: .seconds(1), for: [.syncctl])
    static let syncBackoffCap = ConfigurationKey<Duration>.duration(
        "sync.backoff-cap", "Longest wait between two attempts.", in: .milliseconds(100) ... .seconds(3_600),
        default: .seconds(120), for: [.syncctl])
    static let syncStopDeadline = ConfigurationKey<Duration>.duration(
        "sync.stop-deadline", "Longest time that a graceful stop waits for open requests.",
        in: .milliseconds(100) ... .seconds(60), default: .seconds(5), for: [.syncctl])

    // MARK: The flight recorder

    static let recorderEvents = ConfigurationKey<Int>.integer(
        "recorder.events",
        "Number of engine events that the flight recorder keeps, without secrets. 0 turns it off.", in: 0...100_000,
        unit: "events", default: 0, for: [.syncctl])

    // MARK: The server program

    static let listenHost = ConfigurationKey<String>.text(
        "listen.host", "Address to listen on. 0.0.0.0 listens on all addresses.", default: .fixed("127.0.0.1"),
        for: [.syncd])
    static let listenPort = ConfigurationKey<Int>.integer(
        "listen.port", "Port to listen on. 0 selects a free port.", in: 0...65_535, unit: "port number",
        default: 8_080, for: [.syncd])
    static let listenPortFile = ConfigurationKey<String>.path(
        "listen.port-file", "File that receives the port number once the server is ready.", for: [.syncd])
    static let listenCertificateFile = ConfigurationKey<String>.path(
        "listen.certificate-file", "Certificate of the server, followed by its intermediate certificates (PEM).",
        for: [.syncd])
    static let listenKeyFile = ConfigurationKey<String>.path(
        "listen.key-file", "Private key of the certificate (PEM).", for: [.syncd])
    static let listenConnections = ConfigurationKey<Int>.integer(
        "listen.connections",
        "Maximum number of connections. Beyond it, a new connection replaces one without an accepted token, or an idle one.",
        in: 16...1_000_000, unit: "connections", default: 10_000, for: [.syncd])
    static let listenConnectionsPerAddress = ConfigurationKey<Int>.integer(
        "listen.connections-per-address",
        "Maximum number of connections from one IPv4 address or IPv6 /64 network. Behind a reverse proxy, set it to the value of listen.connections.",
        in: 1...1_000_000, unit: "connections", default: 256, for: [.syncd])
    static let authorityFolder = ConfigurationKey<String>.path(
        "authority.folder", "Folder of the server's database.", default: .homeFolder("tombolo-server"),
        for: [.syncd])
    static let authorityDurability = ConfigurationKey<Durability>.choice(
        "authority.durability",
        "Failures that a confirmed push survives. normal: a crash of the program. full: also a power loss.",
        default: .fixed("full"), for: [.syncd])
    static let authorityKeptCommits = ConfigurationKey<Int>.integer(
        "authority.kept-commits",
        "Number of commits to keep per space. A device that has been offline longer than this downloads a full snapshot. Must exceed the number of commits made during one such download.",
        in: 10_000...1_000_000_000, unit: "commits", default: AuthorityLimits.keptCommits, for: [.syncd])
    static let authorityTokenFile = ConfigurationKey<String>.path(
        "authority.token-file",
        "File of the accepted tokens. By default, the file tokens in the folder of the database.",
        for: [.syncd])
    static let shutdownDeadline = ConfigurationKey<Duration>.duration(
        "shutdown.deadline", "Longest time for a graceful stop.",
        in: .milliseconds(100) ... .seconds(300), default: .seconds(10), for: [.syncd])

    /// All keys. A test checks that every key in this file is listed here.
    public static let all: [KeyDescription] = [
        environment.about, logLevel.about, storeFolder.about, storeDurability.about, serverURL.about,
        serverToken.about, serverTokenFile.about, serverCAFile.about, serverConnectTimeout.about,
        serverRequestTimeout.about, syncPollInterval.about, syncHints.about, syncBatchTransactions.about,
        syncBatchBytes.about, syncPageRows.about, syncBackoffInitial.about, syncBackoffCap.about,
        syncStopDeadline.about, recorderEvents.about, listenHost.about, listenPort.about, listenPortFile.about,
        listenCertificateFile.about, listenKeyFile.about, listenConnections.about, listenConnectionsPerAddress.about,
        authorityFolder.about,
        authorityDurability.about, authorityKeptCommits.about, authorityTokenFile.about, shutdownDeadline.about,
    ]
}

/// The failures that an acknowledged write survives.
public enum Durability: String, Hashable, Sendable, CaseIterable {
    /// A crash of the process.
    case normal
    /// A crash of the process, and a power loss.
    case full
}

/// The log levels, from the least to the most severe.
public enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}
