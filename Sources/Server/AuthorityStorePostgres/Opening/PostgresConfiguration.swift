import CPostgres
public import SyncAuthority
public import SyncModel

/// The configuration of an authority's database in PostgreSQL.
public struct PostgresConfiguration: Hashable, Sendable {
    /// The connection string of libpq: `host=… dbname=… user=…`, or a URL. Several hosts are allowed; see "Connection
    /// Strings" in the manual of PostgreSQL. Passwords belong in the file that `PGPASSFILE` names. The settings in
    /// `options` apply, unless the store makes them itself.
    public var connection: String
    /// The schema of the tables. It is created if it is missing.
    public var schema: String
    /// `full` flushes every commit. `normal` survives a crash of the server program, but may lose the latest commits
    /// when the database crashes.
    public var durability: Durability
    /// The time that a write waits for the writes of other servers.
    public var lockTimeout: Duration
    /// The time that the database may be silent during a statement. Then the connection counts as lost.
    public var silenceLimit: Duration
    /// Maximum number of concurrent reads.
    public var readers: Int
    /// The path of the mark, in which a running server records the heads of its change feeds; nil if there is none. If
    /// the schema is missing or empty, the mark proves that data was lost, or that this is not the server's database.
    public var mark: String?

    public init(
        connection: String, schema: String = "tombolo", durability: Durability = .full,
        lockTimeout: Duration = PostgresLimits.lockTimeout, silenceLimit: Duration = PostgresLimits.silenceLimit,
        readers: Int = PostgresLimits.readers, mark: String? = nil
    ) {
        self.connection = connection
        self.schema = schema
        self.durability = durability
        self.lockTimeout = lockTimeout
        self.silenceLimit = silenceLimit
        self.readers = readers
        self.mark = mark
    }
}

/// The limits of the store.
public enum PostgresLimits {
    /// The default lock timeout. It is longer than the longest write of an authority, and shorter than a client's
    /// timeout.
    public static let lockTimeout = Duration.seconds(5)
    /// The default number of readers. Each uses a process of the database.
    public static let readers = 8
    /// Maximum time for one statement, and maximum time between two statements of a transaction. A server that hangs
    /// must not keep the write lock from the other servers.
    static let statementTimeout = Duration.seconds(30)
    /// The default silence limit. It exceeds the statement timeout, after which the database itself ends a statement.
    public static let silenceLimit = Duration.seconds(35)
    /// Maximum time to connect to one host.
    static let connectTimeout = Duration.seconds(5)
    /// Maximum time that sent data may stay unacknowledged. Then the host counts as dead.
    static let networkTimeout = Duration.seconds(10)
    /// The time without a notification after which the listener reads all heads, to find commits of other servers whose
    /// notifications were lost.
    static let pollInterval = Duration.seconds(5)
}

extension PostgresConfiguration {
    /// Throws if the connection string or the schema is invalid, or if the string contains a secret, such as a
    /// password.
    public func validate() throws(AuthorityStoreError) {
        guard schema.utf8.count <= 55, let first = schema.utf8.first, UInt8(ascii: "a")...UInt8(ascii: "z") ~= first,
            schema.utf8.allSatisfy({ byte in
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                    || byte == UInt8(ascii: "_")
            }), !schema.hasPrefix("pg_")
        else {
            throw AuthorityStoreError(
                .unstorable,
                "'\(schema)' is not a valid name of a schema: expected a-z, then a-z, 0-9 or _, at most 55 characters, and not pg_ at the beginning"
            )
        }
        guard let secret = try Self.words(of: connection).first(where: \.isSecret) else { return }
        guard secret.keyword != "password" else {
            throw AuthorityStoreError(
                .unstorable,
                "the connection string contains a password, which others could read; expected it in the file that PGPASSFILE names"
            )
        }
        throw AuthorityStoreError(
            .unstorable,
            "the connection string contains the secret \(secret.keyword), which others could read; expected service=NAME, and \(secret.keyword) in the file that PGSERVICEFILE names"
        )
    }

    /// Returns a connection string for people to read, with `********` in place of each secret.
    ///
    /// A string that contains a secret is returned in the form `keyword=value`, even if it is a URL. An invalid string
    /// is masked completely, because a part of it may be a password.
    public static func masked(_ connection: String) -> String {
        guard let words = try? words(of: connection) else { return mask }
        guard words.contains(where: \.isSecret) else { return connection }
        return words.map { "\($0.keyword)=\($0.isSecret ? mask : quoted($0.value))" }.joined(separator: " ")
    }

    private static let mask = "********"

    /// Returns a value as it is written in a connection string.
    private static func quoted(_ value: String) -> String {
        let needsQuotes = value.isEmpty || value.contains { $0.isWhitespace || $0 == "'" || $0 == "\\" }
        guard needsQuotes else { return value }
        return "'\(value.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
    }

    /// A keyword of a connection string with its value.
    private struct Word {
        let keyword: String
        let value: String
        /// Whether libpq marks the value as one that must not be shown.
        let isSecret: Bool
    }

    /// Returns a message of libpq on one line, without the parts that it quotes from a connection string: they may be
    /// secret.
    private static func withoutQuotations(_ message: String) -> String {
        message.split(whereSeparator: \.isNewline).joined(separator: "; ")
            .replacing(/"([^"]*)"/) { $0.1 == "=" ? "\"=\"" : "\"…\"" }
    }

    /// Parses a connection string in either of its forms.
    private static func words(of connection: String) throws(AuthorityStoreError) -> [Word] {
        var message: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(connection, &message) else {
            defer { PQfreemem(message) }
            let reason = message.map { Self.withoutQuotations(String(cString: $0)) }
            throw AuthorityStoreError(.unstorable, "the connection string is invalid: \(reason ?? "out of memory")")
        }
        defer { PQconninfoFree(options) }
        let isURL = connection.hasPrefix("postgres")
        var words: [Word] = []
        var option = options
        while let name = option.pointee.keyword {
            if let value = option.pointee.val {
                let word = Word(
                    keyword: String(cString: name), value: String(cString: value),
                    isSecret: option.pointee.dispchar.map { String(cString: $0) } == "*")
                // A password with a slash that is not written as %2F ends up in the name of the database, and a
                // password without a host after it in the port.
                let isMisplacedPassword =
                    isURL
                    && (word.keyword == "dbname" && word.value.contains("@")
                        || word.keyword == "port" && word.value.contains { !$0.isASCII || !$0.isNumber && $0 != "," })
                words.append(
                    isMisplacedPassword ? Word(keyword: "password", value: word.value, isSecret: true) : word)
            }
            option += 1
        }
        return words
    }

    /// A setting of each session.
    struct Setting {
        let name: String
        let value: String
        /// Whether the value is a time in milliseconds, which the database shows in another unit.
        let isTime: Bool

        init(_ name: String, _ value: String) { (self.name, self.value, isTime) = (name, value, false) }

        init(_ name: String, _ time: Duration) { (self.name, value, isTime) = (name, "\(time.milliseconds)", true) }
    }

    /// The settings of each session, which the operator's string cannot override.
    var settings: [Setting] {
        [
            // The name of the schema has been validated, so it needs no quotes here.
            Setting("search_path", schema),
            Setting("lock_timeout", lockTimeout),
            Setting("statement_timeout", PostgresLimits.statementTimeout),
            Setting("idle_in_transaction_session_timeout", PostgresLimits.statementTimeout),
            Setting("synchronous_commit", durability == .full ? "on" : "off"),
        ]
    }

    /// The parameters of a connection, by libpq's keywords.
    var parameters: [(keyword: String, value: String)] {
        // The operator's options come first, because the last value of a setting applies. libpq itself reports a string
        // that it cannot parse.
        let given = (try? Self.words(of: connection))?.first { $0.keyword == "options" }?.value
        let options = [given ?? ""] + settings.map { "-c \($0.name)=\($0.value)" }
        return [
            ("connect_timeout", "\(PostgresLimits.connectTimeout.milliseconds / 1_000)"),
            ("tcp_user_timeout", "\(PostgresLimits.networkTimeout.milliseconds)"),
            ("application_name", "tombolo"),
            // The operator's string overrides the values before it. The values after it override the string.
            ("dbname", connection),
            ("client_encoding", "UTF8"),
            ("options", options.filter { !$0.isEmpty }.joined(separator: " ")),
        ]
    }
}

extension Duration {
    var milliseconds: Int64 { components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000 }
}
