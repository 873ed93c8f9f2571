import SyncAuthority

/// Every key that exists, in the order in which they are shown.
public enum ConfigurationKeys {
    static let environment = ConfigurationKey<Environment>.choice(
        "environment", "Picks adapters and defaults.", default: .fixed("production"), for: [.syncctl, .syncd])
    static let logLevel = ConfigurationKey<LogLevel>.choice(
        "log.level", "The least serious messages that are written to standard error.",
        default: .logLevelOfEnvironment, for: [.syncctl, .syncd])

    // MARK: The client's store

    static let storeFolder = ConfigurationKey<String>.path(
        "store.folder", "The folder of this device's database.", default: .homeFolder("tombolo"), for: [.syncctl])
    static let storeDurability = ConfigurationKey<Durability>.choice(
        "store.durability",
        "What a write survives once it has returned: normal, a crash of the program; full, a power loss too.",
        default: .fixed("normal"), for: [.syncctl])

    // MARK: The way to the server

    static let serverURL = ConfigurationKey<ServerAddress>.url(
        "server.url", "The server. Without one the device works alone.", for: [.syncctl])
    static let serverToken = ConfigurationKey<String>.text(
        "server.token", "The token that this device shows the server; better kept in server.token-file.",
        isSecret: true, for: [.syncctl])
    static let serverTokenFile = ConfigurationKey<String>.path(
        "server.token-file", "A file whose first line is the token that this device shows the server.",
        for: [.syncctl])
    static let serverCAFile = ConfigurationKey<String>.path(
        "server.ca-file", "Certificates (PEM) to trust instead of the machine's own.", for: [.syncctl])
    static let serverConnectTimeout = ConfigurationKey<Duration>.duration(
        "server.connect-timeout", "How long making a connection may take.", in: .milliseconds(100) ... .seconds(300),
        default: .seconds(10), for: [.syncctl])
    static let serverRequestTimeout = ConfigurationKey<Duration>.duration(
        "server.request-timeout", "How long an answer may take.", in: .seconds(1) ... .seconds(600),
        default: .seconds(30), for: [.syncctl])

    // MARK: The engine

    static let syncPollInterval = ConfigurationKey<Duration>.duration(
        "sync.poll-interval", "The rest between two pulls when nothing tells of news.",
        in: .seconds(1) ... .seconds(86_400), default: .seconds(30), for: [.syncctl])
    static let syncHints = ConfigurationKey<Bool>.boolean(
        "sync.hints", "Whether to listen to the server's hints, which bring news at once.", default: true,
        for: [.syncctl])
    static let syncBatchTransactions = ConfigurationKey<Int>.integer(
        "sync.batch-transactions", "How much one push carries at most.", in: 1...1_000, unit: "transactions",
        default: 200, for: [.syncctl])
    static let syncBatchBytes = ConfigurationKey<Int>.integer(
        "sync.batch-bytes", "How much one push carries at most.", in: 1_024...4_194_304, unit: "bytes",
        default: 524_288, for: [.syncctl])
    static let syncPageRows = ConfigurationKey<Int>.integer(
        "sync.page-rows", "How much one pull brings at most.", in: 1...10_000, unit: "rows", default: 1_000,
        for: [.syncctl])
    static let syncBackoffInitial = ConfigurationKey<Duration>.duration(
        "sync.backoff-initial", "The longest wait after a first failure; it doubles with each further one.",
        in: .milliseconds(10) ... .seconds(60), default: .seconds(1), for: [.syncctl])
    static let syncBackoffCap = ConfigurationKey<Duration>.duration(
        "sync.backoff-cap", "The longest wait between two tries.", in: .milliseconds(100) ... .seconds(3_600),
        default: .seconds(120), for: [.syncctl])
    static let syncStopDeadline = ConfigurationKey<Duration>.duration(
        "sync.stop-deadline", "How long a graceful stop waits for requests on their way.",
        in: .milliseconds(100) ... .seconds(60), default: .seconds(5), for: [.syncctl])

    // MARK: The flight recorder

    static let recorderEvents = ConfigurationKey<Int>.integer(
        "recorder.events",
        "How many events of the engine the flight recorder keeps, without secrets; 0 turns it off.", in: 0...100_000,
        unit: "events", default: 0, for: [.syncctl])

    // MARK: The server program

    static let listenHost = ConfigurationKey<String>.text(
        "listen.host", "The address to listen on; 0.0.0.0 is every address.", default: .fixed("127.0.0.1"),
        for: [.syncd])
    static let listenPort = ConfigurationKey<Int>.integer(
        "listen.port", "The port to listen on; 0 takes a free one.", in: 0...65_535, unit: "port number",
        default: 8_080, for: [.syncd])
    static let listenPortFile = ConfigurationKey<String>.path(
        "listen.port-file", "A file into which the port is written once the server answers.", for: [.syncd])
    static let listenCertificateFile = ConfigurationKey<String>.path(
        "listen.certificate-file", "The server's certificate with those between it and the root (PEM).", for: [.syncd])
    static let listenKeyFile = ConfigurationKey<String>.path(
        "listen.key-file", "The private key of the certificate (PEM).", for: [.syncd])
    static let listenConnections = ConfigurationKey<Int>.integer(
        "listen.connections",
        "Number of connections at one time. A new one beyond it replaces one without an accepted token, or an idle one.",
        in: 16...1_000_000, unit: "connections", default: 10_000, for: [.syncd])
    static let listenConnectionsPerAddress = ConfigurationKey<Int>.integer(
        "listen.connections-per-address",
        "Number of connections at one time from one IPv4 address or IPv6 network of 64 bits. Behind a reverse proxy, set it to listen.connections.",
        in: 1...1_000_000, unit: "connections", default: 256, for: [.syncd])
    static let authorityFolder = ConfigurationKey<String>.path(
        "authority.folder", "The folder of the server's database.", default: .homeFolder("tombolo-server"),
        for: [.syncd])
    static let authorityDurability = ConfigurationKey<Durability>.choice(
        "authority.durability",
        "What an answered push survives: normal, a crash of the program; full, a power loss too.",
        default: .fixed("full"), for: [.syncd])
    static let authorityKeptCommits = ConfigurationKey<Int>.integer(
        "authority.kept-commits",
        "How many commits of each space are kept to tell devices what has changed: more than are made while a device reads all again, as who has been away for longer has to.",
        in: 10_000...1_000_000_000, unit: "commits", default: AuthorityLimits.keptCommits, for: [.syncd])
    static let authorityTokenFile = ConfigurationKey<String>.path(
        "authority.token-file", "The file of the tokens that are accepted; by default tokens beside the database.",
        for: [.syncd])
    static let shutdownDeadline = ConfigurationKey<Duration>.duration(
        "shutdown.deadline", "How long a graceful stop may take before it is cut short.",
        in: .milliseconds(100) ... .seconds(300), default: .seconds(10), for: [.syncd])

    /// All of them. A test holds that no key of this file is missing here.
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

/// The failure that an acknowledged write survives.
public enum Durability: String, Hashable, Sendable, CaseIterable {
    /// The crash of the process.
    case normal
    /// A power loss too.
    case full
}

/// The levels of the log, least serious first.
public enum LogLevel: String, Hashable, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}
