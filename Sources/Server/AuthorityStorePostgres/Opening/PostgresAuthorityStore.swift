package import AuthorityStoreSQL
public import SyncAuthority

/// The authority's store on PostgreSQL, which several servers may share.
///
/// The writes of all servers run one after another: each takes an advisory lock first, so that everything it reads
/// stays true until its end, and versions become visible in their order. Reads run concurrently with writes, each on
/// one snapshot.
///
/// When the connection is lost during a commit, the call throws, although the commit may have taken effect. The
/// authority recognizes the repeated transaction by its number.
public final class PostgresAuthorityStore: AuthorityStore {
    private let writer: PostgresPool
    private let readers: PostgresPool
    private let begin: PostgresPool.Beginning
    private let schema: String
    private static let reading = PostgresPool.Beginning.read("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    /// Connects to the database, and creates its schema if it is missing.
    ///
    /// - Parameters:
    ///   - newHistory: the history of a new database; unused if the database has one already.
    ///   - creating: whether to create a missing schema; if false, a missing one is an error (`noDatabase`).
    public convenience init(
        _ configuration: PostgresConfiguration, newHistory: HistoryIdentity, creating: Bool = true
    ) throws(AuthorityStoreError) {
        try self.init(configuration, newHistory: newHistory, creating: creating, forTransfer: false)
    }

    /// Connects to the database that receives a copy, and creates its schema if it is missing. No server opens a new
    /// schema before the copy is complete.
    package convenience init(
        receivingCopyIn configuration: PostgresConfiguration, newHistory: HistoryIdentity
    ) throws(AuthorityStoreError) {
        try self.init(configuration, newHistory: newHistory, creating: true, forTransfer: true)
    }

    private init(
        _ configuration: PostgresConfiguration, newHistory: HistoryIdentity, creating: Bool, forTransfer: Bool
    ) throws(AuthorityStoreError) {
        try configuration.validate()
        let opening = PostgresOpening(configuration: configuration, forTransfer: forTransfer)
        schema = configuration.schema
        begin = .write("BEGIN ISOLATION LEVEL READ COMMITTED; \(opening.lock)")
        let connection = try AuthorityStoreError.converting("open the database") {
            let connection = try PostgresConnection.toPrimary(configuration)
            try opening.prepare(connection, newHistory: newHistory, creating: creating)
            return connection
        }
        writer = PostgresPool(count: 1, first: connection) { try PostgresConnection.toPrimary(configuration) }
        readers = PostgresPool(count: configuration.readers) { try PostgresConnection.toPrimary(configuration) }
    }

    /// Closes the connections after the current calls have ended. Every later call fails.
    public func close() {
        readers.close()
        writer.close()
    }

    public func read<Result>(
        _ body: (any AuthorityView) throws -> Result
    ) throws -> Result {
        try namingMove {
            try AuthorityStoreError.converting("read") {
                try readers.transaction(Self.reading) { session in try body(SQLTransaction(session)) }
            }
        }
    }

    public func takesWrites() throws -> Bool {
        try AuthorityStoreError.converting("ask whether the database takes writes") {
            try readers.transaction(Self.reading) { session in
                try session.query(
                    "ask whether the database takes writes", PostgresConnection.readOnlyQuery, []
                ) { cursor in try !cursor.step() }
            }
        }
    }

    public func write<Result>(
        _ body: (any AuthorityTransaction) throws -> Result
    ) throws -> Result {
        try namingMove {
            try AuthorityStoreError.converting("write") {
                try writer.transaction(begin) { session in try body(SQLTransaction(session)) }
            }
        }
    }

    private func namingMove<Result>(_ body: () throws -> Result) throws -> Result {
        try StoreTransfer.namingMove(of: "the schema \(schema)", isMoved: isMoved, body)
    }

    /// Returns whether the history of the schema continues elsewhere. The transaction that found no table has ended.
    private func isMoved() throws -> Bool {
        try readers.transaction(Self.reading) { session in
            try session.query(
                "look for a move",
                "SELECT 1 FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2",
                [.text(schema), .text(StoreTransfer.retiredTable)]
            ) { cursor in try cursor.step() }
        }
    }
}

extension PostgresAuthorityStore: TransferableStore {
    package func transfer<Result: Sendable>(_ body: (any TransferSession) throws -> Result) throws -> Result {
        try AuthorityStoreError.converting("copy the database") { try writer.transaction(begin) { try body($0) } }
    }
}
