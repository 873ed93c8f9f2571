package import SyncAuthority

/// Copies the whole history of a server from one database to another.
///
/// The copy has the same name of the history, the same key, and the same numbers. Therefore, devices continue with the
/// copy as if nothing had happened: their cursors are valid there, and a repeated push is recognized.
package struct StoreTransfer: Sendable {
    /// The number of rows by the name of their table.
    package let rows: [(table: String, count: Int)]
    /// Whether the copy was complete already, from an earlier call that was interrupted after it.
    package let wasComplete: Bool

    /// Copies all rows, and compares the copy with its source before the copy is committed.
    ///
    /// Nobody can write to either store meanwhile. If the call throws or is killed, the target has either nothing or
    /// the whole copy. The source is in use as before, unless only the response to its last commit was lost. A repeated
    /// call recognizes a whole copy.
    ///
    /// - Parameters:
    ///   - source: the store to copy. It keeps its data, but is taken out of use.
    ///   - target: a store without data, or one that has received this copy already.
    ///   - progress: called with the number of copied rows from time to time.
    package init(
        from source: some TransferableStore, to target: some TransferableStore,
        progress: @escaping @Sendable (_ rows: Int) -> Void
    ) throws {
        self = try source.transfer { source in
            let transfer = try target.transfer { try Self.run(from: source, to: $0, progress: progress) }
            // The copy is durable now. No server may accept another write over the source.
            try Self.retire(source)
            return transfer
        }
    }

    private init(rows: [(table: String, count: Int)], wasComplete: Bool) {
        self.rows = rows
        self.wasComplete = wasComplete
    }

    private static func run<Source: TransferSession, Target: TransferSession>(
        from source: Source, to target: Target, progress: @escaping @Sendable (_ rows: Int) -> Void
    ) throws -> StoreTransfer {
        try source.prepareForTransfer()
        try target.prepareForTransfer()
        try target.finishTransfer()
        let tables = StoreTable.all(insertConflict: Target.insertConflict)
        let hasData = try hasData(target)
        if !hasData {
            var copied = 0
            for table in tables { copied = try copy(table, from: source, to: target, after: copied, progress) }
            try copyServer(from: source, to: target)
            try target.setLastConflict(try source.lastConflict())
        }
        do {
            let rows = try tables.map { table in
                let contents = try contents(of: table, in: source)
                guard try contents == self.contents(of: table, in: target) else { throw Difference(table: table.name) }
                return (table.name, contents.count)
            }
            guard try server(source) == server(target), try source.lastConflict() == target.lastConflict() else {
                throw Difference(table: "server")
            }
            return StoreTransfer(rows: rows, wasComplete: hasData)
        } catch let error as Difference {
            guard hasData else {
                throw AuthorityStoreError(.corrupt, "the copy differs from its source in the table \(error.table)")
            }
            throw AuthorityStoreError(
                .inUse,
                "the target has data that differs from the source in the table \(error.table); expected an empty database"
            )
        }
    }

    /// The new name of the table `server`. A database with such a table has been moved.
    package static let retiredTable = "moved_server"

    /// Renames the tables without which no program can read or write the database. `member` and `client` are those that
    /// commands change beside a server.
    private static func retire(_ session: some SQLSession) throws {
        let statements: [StaticString] = [
            "ALTER TABLE server RENAME TO moved_server", "ALTER TABLE space RENAME TO moved_space",
            "ALTER TABLE member RENAME TO moved_member", "ALTER TABLE client RENAME TO moved_client",
        ]
        for statement in statements { _ = try session.execute("take the database out of use", statement, []) }
    }

    /// The error for a database that has been moved.
    package static func movedError(_ name: String) -> AuthorityStoreError {
        AuthorityStoreError(
            .moved, "\(name) was moved to another database, which has all its data"
        )
    }

    /// Calls `body`. If it fails for lack of a table because the database was moved while it was open, the error says
    /// so.
    ///
    /// - Parameter isMoved: whether the database has the table `retiredTable`.
    package static func namingMove<Result>(
        of name: String, isMoved: () throws -> Bool, _ body: () throws -> Result
    ) throws -> Result {
        do {
            return try body()
        } catch let error as AuthorityStoreError where error.code == .corrupt || error.code == .otherSchema {
            guard (try? isMoved()) == true else { throw error }
            throw movedError(name)
        }
    }

    /// The tables of the two databases differ.
    private struct Difference: Error {
        let table: String
    }

    private static func hasData(_ session: some SQLSession) throws -> Bool {
        try session.query(
            "look for data",
            """
            SELECT (SELECT count(*) FROM space) + (SELECT count(*) FROM member) + (SELECT count(*) FROM client)
                + (SELECT count(*) FROM ledger) + (SELECT count(*) FROM record)
            """, []
        ) { cursor in try cursor.step() && cursor.integer(0) > 0 }
    }

    /// Copies a table. Returns the number of all rows that are copied so far.
    private static func copy<Source: SQLSession, Target: SQLSession>(
        _ table: StoreTable, from source: Source, to target: Target, after copied: Int,
        _ progress: @escaping @Sendable (_ rows: Int) -> Void
    ) throws -> Int {
        _ = try target.execute("empty \(table.name)", table.delete, [])
        return try source.query("read \(table.name)", table.select, []) { cursor in
            var copied = copied
            while try cursor.step() {
                _ = try target.execute("write \(table.name)", table.insert, table.values(in: cursor))
                copied += 1
                if copied.isMultiple(of: 10_000) { progress(copied) }
            }
            return copied
        }
    }

    /// The number of rows of a table, and a hash over them in order. The hash has a random key for each process, so it
    /// only serves to compare.
    private struct Contents: Hashable, Sendable {
        var count = 0
        var hash = 0
    }

    private static func contents(of table: StoreTable, in session: some SQLSession) throws -> Contents {
        try session.query("read \(table.name)", table.select, []) { cursor in
            var (count, hasher) = (0, Hasher())
            while try cursor.step() {
                hasher.combine(table.values(in: cursor))
                count += 1
            }
            return Contents(count: count, hash: hasher.finalize())
        }
    }

    private static func server(_ session: some SQLSession) throws -> [StoredValue] {
        let row: [StoredValue]? = try session.query(
            "read the state", "SELECT epoch, key, clock, catalog_revision, member_revision FROM server", []
        ) { cursor in
            guard try cursor.step() else { return nil }
            return [
                .utf8(cursor.bytes(0)), .blob(cursor.bytes(1)), .integer(cursor.integer(2)),
                .integer(cursor.integer(3)), .integer(cursor.integer(4)),
            ]
        }
        guard let row else { throw AuthorityStoreError(.corrupt, "the table server has no row") }
        return row
    }

    private static func copyServer(from source: some SQLSession, to target: some SQLSession) throws {
        _ = try target.execute(
            "write the state",
            "UPDATE server SET epoch = $1, key = $2, clock = $3, catalog_revision = $4, member_revision = $5",
            try server(source))
    }
}
