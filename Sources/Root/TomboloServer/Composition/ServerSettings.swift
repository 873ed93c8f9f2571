public import SyncAuthority
public import SyncModel
public import SyncProgram

/// The settings of a server, read once at the start.
public struct ServerSettings: Sendable {
    /// The environment, which picks the adapters.
    public let environment: DeploymentEnvironment
    /// The least severe level that is logged.
    public let logLevel: LogLevel
    /// The address to listen on.
    public let host: String
    /// The port; 0 selects a free one.
    public let port: Int
    /// The file that receives the port once the server is ready; nil for none.
    public let portFile: String?
    /// The files of the certificate and its key; nil serves without encryption.
    public let tls: TLS?
    /// Maximum number of simultaneous connections.
    public let connections: Int
    /// Maximum number of connections from one IPv4 address or IPv6 /64 network.
    public let connectionsPerAddress: Int
    /// Number of requests per second that one account may send.
    public let requestsPerSecond: Int
    /// Number of bytes of request and response bodies per second that one account may transfer.
    public let bytesPerSecond: Int
    /// The limits on what one account stores.
    public let accounts: AccountLimits
    /// The folder of the SQLite database, and of the other files of the server.
    public let folder: String
    /// The connection string of PostgreSQL; nil for SQLite in the folder.
    public let postgres: String?
    /// The schema of the tables in PostgreSQL.
    public let postgresSchema: String
    /// The failures that a confirmed push survives.
    public let durability: Durability
    /// Number of commits kept per space: a device that has been offline longer downloads a full snapshot.
    public let keptCommits: Int
    /// The size of the commits to keep per space, in bytes.
    public let keptBytes: Int
    /// The file of the accepted tokens.
    public let tokenFile: String
    /// The JSON Web Tokens that are accepted besides those of the file; nil accepts none.
    public let webTokens: WebTokens?
    /// The file of the models to serve; nil for those of the program.
    public let catalogFile: String?
    /// The address on which metrics are served; nil serves none.
    public let metrics: Metrics?
    /// The longest time for a graceful stop.
    public let shutdownDeadline: Duration

    /// The files for encryption.
    public struct TLS: Hashable, Sendable {
        /// The file of the certificate chain, in PEM.
        public let certificateFile: String
        /// The file of the private key, in PEM.
        public let keyFile: String
    }

    /// The rules for JSON Web Tokens.
    public struct WebTokens: Hashable, Sendable {
        /// The file of the issuer's public keys, or a folder of such files.
        public let keys: String
        /// The value of the claim `iss`.
        public let issuer: String
        /// A value of the claim `aud`.
        public let audience: String
        /// The time by which `nbf` and `iat` may be ahead of the server's clock.
        public let clockSkew: Duration
    }

    /// An address for metrics.
    public struct Metrics: Hashable, Sendable {
        /// The address to listen on.
        public let host: String
        /// The port; 0 selects a free one.
        public let port: Int
    }

    /// The database file of SQLite.
    public var file: String { folder + "/authority.sqlite" }
    /// The file of the mark, which records how far this server's history has come.
    public var markFile: String { postgres == nil ? fileMark : postgresMark }
    /// The mark that this server has left if it kept its data in the other kind of database.
    var formerMarkFile: String { postgres == nil ? postgresMark : fileMark }
    /// The mark of a server that keeps its data in the file.
    var fileMark: String { file + "-mark" }
    /// The mark of a server that keeps its data in PostgreSQL.
    var postgresMark: String { folder + "/authority.postgres-mark" }

    /// Returns the file of the accepted tokens if no setting names another one.
    static func usualTokenFile(in folder: String) -> String { folder + "/tokens" }

    /// Checks the settings against each other.
    package init(_ configuration: ResolvedConfiguration<ServerKeys>) throws(ConfigurationError) {
        let keys = configuration.values
        if keys.postgres == nil {
            try configuration.refuse("authority.postgres-schema", without: "authority.postgres")
        }
        if keys.jwtKeys == nil { try configuration.refuse("jwt.clock-skew", without: "jwt.keys") }
        if keys.metricsPort == nil { try configuration.refuse("metrics.host", without: "metrics.port") }
        environment = keys.environment
        logLevel = keys.logLevel
        host = keys.host
        port = keys.port
        portFile = keys.portFile
        tls = try TLS(keys)
        if tls == nil, environment.choices.requiresTLS, !ServerAddress.isLoopback(host) {
            throw ConfigurationError(
                "listen.host: \(host) is not a loopback address, and the environment \(environment) requires TLS there",
                advice: "give listen.certificate-file and listen.key-file, or listen on 127.0.0.1 behind a proxy")
        }
        connections = keys.connections
        connectionsPerAddress = keys.connectionsPerAddress
        requestsPerSecond = keys.requestsPerSecond
        bytesPerSecond = keys.bytesPerSecond
        accounts = AccountLimits(bytes: keys.accountBytes ?? .max, clients: keys.accountClients ?? .max)
        folder = try configuration.required(keys.folder, "authority.folder")
        postgres = keys.postgres
        postgresSchema = keys.postgresSchema
        durability = keys.durability
        keptCommits = keys.keptCommits
        keptBytes = keys.keptBytes
        tokenFile = keys.tokenFile ?? Self.usualTokenFile(in: folder)
        webTokens = try WebTokens(keys)
        catalogFile = keys.catalogFile
        metrics = keys.metricsPort.map { Metrics(host: keys.metricsHost, port: $0) }
        shutdownDeadline = keys.shutdownDeadline
    }
}

extension ServerSettings.TLS {
    /// Takes the files for TLS from the settings; nil when neither is given.
    init?(_ keys: ServerKeys) throws(ConfigurationError) {
        guard keys.certificateFile != nil || keys.keyFile != nil else { return nil }
        guard let certificate = keys.certificateFile, let key = keys.keyFile else {
            throw ConfigurationError(
                "listen.certificate-file and listen.key-file belong together; only one of them is given")
        }
        certificateFile = certificate
        keyFile = key
    }
}

extension ServerSettings.WebTokens {
    /// Takes the rules from the settings; nil when none is given.
    init?(_ keys: ServerKeys) throws(ConfigurationError) {
        guard keys.jwtKeys != nil || keys.jwtIssuer != nil || keys.jwtAudience != nil else { return nil }
        guard let path = keys.jwtKeys, let issuer = keys.jwtIssuer, let audience = keys.jwtAudience else {
            throw ConfigurationError(
                "jwt.keys, jwt.issuer, and jwt.audience belong together; only some of them are given",
                advice: "a token is accepted only if its issuer meant it for this server")
        }
        self.keys = path
        self.issuer = issuer
        self.audience = audience
        clockSkew = keys.jwtClockSkew
    }
}
