/// The settings of a server, read once at the start.
public struct ServerSettings: Sendable {
    public let environment: Environment
    public let logLevel: LogLevel
    public let host: String
    /// The port; 0 selects a free one.
    public let port: Int
    public let portFile: String?
    /// The files of the certificate and its key; nil serves without encryption.
    public let tls: TLS?
    /// Maximum number of simultaneous connections, in total and per address.
    public let connections: Int
    public let connectionsPerAddress: Int
    public let folder: String
    public let durability: Durability
    /// Number of commits kept per space: a device that has been offline longer downloads a full snapshot.
    public let keptCommits: Int
    public let tokenFile: String
    public let shutdownDeadline: Duration

    public struct TLS: Hashable, Sendable {
        public let certificateFile: String
        public let keyFile: String
    }

    /// The database file.
    public var file: String { folder + "/authority.sqlite" }
    /// The file of the mark, which records how far this server's history has come.
    public var markFile: String { file + "-mark" }

    public init(_ configuration: ResolvedConfiguration) throws(ConfigurationProblem) {
        environment = configuration.environment
        logLevel = try configuration.required(ConfigurationKeys.logLevel)
        host = try configuration.required(ConfigurationKeys.listenHost)
        port = try configuration.required(ConfigurationKeys.listenPort)
        portFile = try configuration.optionalPath(ConfigurationKeys.listenPortFile)
        tls = try TLS(configuration)
        if tls == nil, environment.choices.requiresTLS, !ServerAddress.isLoopback(host) {
            throw ConfigurationProblem(
                "listen.host: \(host) is open to a network, and the environment \(environment) sends nothing there in plain text",
                advice: "give listen.certificate-file and listen.key-file, or listen on 127.0.0.1 behind a proxy")
        }
        connections = try configuration.required(ConfigurationKeys.listenConnections)
        connectionsPerAddress = try configuration.required(ConfigurationKeys.listenConnectionsPerAddress)
        folder = try configuration.path(ConfigurationKeys.authorityFolder)
        durability = try configuration.required(ConfigurationKeys.authorityDurability)
        keptCommits = try configuration.required(ConfigurationKeys.authorityKeptCommits)
        tokenFile = try configuration.optionalPath(ConfigurationKeys.authorityTokenFile) ?? folder + "/tokens"
        shutdownDeadline = try configuration.required(ConfigurationKeys.shutdownDeadline)
    }
}

extension ServerSettings.TLS {
    /// Reads the files for TLS; nil when neither is given.
    init?(_ configuration: ResolvedConfiguration) throws(ConfigurationProblem) {
        let certificate = try configuration.optionalPath(ConfigurationKeys.listenCertificateFile)
        let key = try configuration.optionalPath(ConfigurationKeys.listenKeyFile)
        guard certificate != nil || key != nil else { return nil }
        guard let certificate, let key else {
            throw ConfigurationProblem(
                "listen.certificate-file and listen.key-file belong together; only one of them is given")
        }
        certificateFile = certificate
        keyFile = key
    }
}
