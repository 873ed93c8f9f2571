import AuthorityStorePostgres
import SyncAuthority
import SyncModel
package import SyncProgram
import SyncServerHTTP

/// The settings of a server, one by one, with their defaults.
package struct ServerKeys: SettingValues {
    /// The HTTP server has its own defaults.
    private static let http = SyncServerConfiguration()

    package var environment = DeploymentEnvironment.production
    package var logLevel = LogLevel.warning
    package var folder: String?
    var postgres: String?
    var postgresSchema = "tombolo"
    var durability = Durability.full
    var keptCommits = AuthorityLimits.keptCommits
    var keptBytes = AuthorityLimits.keptFeedBytes
    var tokenFile: String?
    var catalogFile: String?
    var jwtKeys: String?
    var jwtIssuer: String?
    var jwtAudience: String?
    var jwtClockSkew = Duration.seconds(60)
    var host = Self.http.host
    var port = Self.http.port
    var portFile: String?
    var certificateFile: String?
    var keyFile: String?
    var connections = Self.http.maximumConnections
    var connectionsPerAddress = Self.http.maximumConnectionsPerAddress
    var requestsPerSecond = Self.http.requestsPerSecond
    var bytesPerSecond = Self.http.bytesPerSecond
    var accountBytes: Int?
    var accountClients: Int?
    var metricsHost = "127.0.0.1"
    var metricsPort: Int?
    var shutdownDeadline = Self.http.drain

    package init() {}

    package static let settings: [Setting<Self>] =
        commonSettings + [
            Setting(
                "listen.host", \.host, .text, "Address to listen on. 0.0.0.0 listens on all addresses."),
            Setting(
                "listen.port", \.port, .integer(0...65_535, "port number"),
                "Port to listen on. 0 selects a free port."),
            Setting(
                "listen.port-file", \.portFile, .path,
                "File that receives the port number once the server is ready. A start and a graceful stop remove it. An existing one must be empty or from an earlier run."
            ),
            Setting(
                "listen.certificate-file", \.certificateFile, .path,
                "Certificate of the server, followed by its intermediate certificates (PEM)."),
            Setting("listen.key-file", \.keyFile, .path, "Private key of the certificate (PEM)."),
            Setting(
                "listen.connections", \.connections, .integer(16...1_000_000, "connections"),
                "Maximum number of connections. Beyond it, a new connection replaces one without an accepted token, an idle one, or an event stream."
            ),
            Setting(
                "listen.connections-per-address", \.connectionsPerAddress, .integer(4...1_000_000, "connections"),
                "Maximum number of connections from one IPv4 address or IPv6 /64 network. Behind a reverse proxy, set it to the value of listen.connections."
            ),
            Setting(
                "account.requests-per-second", \.requestsPerSecond, .integer(1...1_000_000, "requests per second"),
                "Number of requests per second that one account may send. After idle time, it may send those of ten seconds at once."
            ),
            Setting(
                "account.bytes-per-second", \.bytesPerSecond,
                .integer(65_536...1_000_000_000_000, "bytes per second"),
                "Number of bytes of requests and responses per second that one account may transfer, with the same allowance after idle time."
            ),
            Setting(
                "account.stored-bytes", \.accountBytes, .integer(1_048_576...1_000_000_000_000_000, "bytes"),
                defaultInWords: "no limit",
                "Number of bytes that the records created by one account may have, with 300 more for each of them, deleted ones included. A write that would exceed it is rejected. The stored size is measured every ten minutes."
            ),
            Setting(
                "account.devices", \.accountClients, .integer(1...1_000_000_000, "devices"), defaultInWords: "no limit",
                "Number of devices with which one account may write. A device whose database is lost or copied counts again."
            ),
            Setting(
                "authority.folder", \.folder, .path, defaultInWords: "a folder of the program's name in ~/.local/share",
                "Folder of the server's database, or of its other files if the database is PostgreSQL."),
            Setting(
                "authority.postgres", \.postgres, .text(masking: PostgresConfiguration.masked),
                defaultInWords: "SQLite in the folder",
                "Connection string of PostgreSQL, such as 'host=db1,db2 dbname=sync target_session_attrs=read-write'. Several servers may share the database. Passwords belong in the file that PGPASSFILE names."
            ),
            Setting(
                "authority.postgres-schema", \.postgresSchema, .text,
                "Schema of the tables in PostgreSQL. It is created if it is missing."),
            Setting(
                "authority.durability", \.durability, .choice,
                "Failures that a confirmed push survives. normal: a crash of the program. full: also a power loss."),
            Setting(
                "authority.kept-commits", \.keptCommits, .integer(10_000...1_000_000_000, "commits"),
                "Number of commits to keep per space. A device that has been offline longer than this downloads a full snapshot. Must exceed the number of commits made during one such download."
            ),
            Setting(
                "authority.kept-bytes", \.keptBytes, .integer(67_108_864...1_000_000_000_000_000, "bytes"),
                "Size of the commits to keep per space. Large values reach it before authority.kept-commits."),
            Setting(
                "authority.token-file", \.tokenFile, .path,
                defaultInWords: "the file tokens in the folder of the database", "File of the accepted tokens."),
            Setting(
                "authority.catalog", \.catalogFile, .path, defaultInWords: "the models of the program",
                "File of the models to serve, as JSON."),
            Setting(
                "jwt.keys", \.jwtKeys, .path, defaultInWords: "no JSON Web Tokens are accepted",
                "File with the public keys of the issuer of JSON Web Tokens (a JSON Web Key Set), or folder of such files whose names end in .json."
            ),
            Setting("jwt.issuer", \.jwtIssuer, .text, "Issuer of the accepted JSON Web Tokens: their claim iss."),
            Setting(
                "jwt.audience", \.jwtAudience, .text,
                "Name of this server in the accepted JSON Web Tokens: a value of their claim aud."),
            Setting(
                "jwt.clock-skew", \.jwtClockSkew, .duration(.zero ... .seconds(600)),
                "Time by which the claims nbf and iat of a JSON Web Token may be ahead of this server's clock."),
            Setting(
                "metrics.host", \.metricsHost, .text,
                "Address on which to serve metrics for Prometheus. Everyone who can connect to it can read them."),
            Setting(
                "metrics.port", \.metricsPort, .integer(0...65_535, "port number"),
                defaultInWords: "no metrics are served",
                "Port on which to serve metrics, as /metrics. 0 selects a free port."),
            Setting(
                "shutdown.deadline", \.shutdownDeadline, .duration(.milliseconds(100) ... .seconds(300)),
                "Longest time for a graceful stop. Ten seconds after it, the process ends with status 1."),
        ]
}
