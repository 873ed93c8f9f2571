import Foundation
import GRDB
import SyncAuthority
import SyncModel

extension SQLiteTransaction: AuthorityView {
    func state() throws(AuthorityStoreFailure) -> AuthorityState {
        guard let row = try row("read the server's state", "SELECT epoch, clock, key FROM server", []) else {
            throw AuthorityStoreFailure(.corrupt, "the database has no row in server")
        }
        let secret: Data = row[2]
        guard let key = HistoryKey(bytes: secret) else {
            throw AuthorityStoreFailure(
                .corrupt, "the server's key has \(secret.count) bytes, \(HistoryKey.byteCount) expected")
        }
        return AuthorityState(
            history: HistoryIdentity(epoch: Epoch(rawValue: row[0]), key: key),
            clock: HybridClock(last: HybridTime(rawValue: UInt64(bitPattern: row[1] as Int64))))
    }

    func extent(of space: SpaceID) throws(AuthorityStoreFailure) -> SpaceExtent {
        let row = try row("read a space", "SELECT head, horizon FROM space WHERE name = ?", [space.rawValue])
        return row.map { SpaceExtent(head: Version($0[0]), horizon: Version($0[1])) } ?? .empty
    }

    func chain(at version: Version, in space: SpaceID) throws(AuthorityStoreFailure) -> HistoryChain? {
        let logged = try row(
            "read a fingerprint", "SELECT chain FROM log WHERE space = ? AND version = ?",
            [space.rawValue, version.rawValue])
        if let logged { return try HistoryChain(stored: logged[0]) }
        let atHorizon = try row(
            "read the fingerprint at the horizon", "SELECT horizon_chain FROM space WHERE name = ? AND horizon = ?",
            [space.rawValue, version.rawValue])
        if let atHorizon { return try HistoryChain(stored: atHorizon[0]) }
        let extent = try extent(of: space)
        return version == .zero && extent == .empty ? .start : nil
    }

    func spaces(havingMoreCommitsThan count: Int) throws(AuthorityStoreFailure) -> [SpaceID] {
        let names = try attempt("look for long feeds") {
            try String.fetchAll(
                database.cachedStatement(sql: "SELECT name FROM space WHERE head - horizon > ? ORDER BY name"),
                arguments: [Int64(count)])
        }
        return try names.map { (name) throws(AuthorityStoreFailure) in
            guard let space = SpaceID(rawValue: name) else {
                throw AuthorityStoreFailure(.corrupt, "'\(name)' is no name of a space")
            }
            return space
        }
    }

    // MARK: Records

    func record(_ address: RecordAddress) throws(AuthorityStoreFailure) -> StoredRecord? {
        let row = try row(
            "read a record", "SELECT \(StoredRecord.columns) FROM record WHERE collection = ? AND id = ?",
            [address.collection.rawValue, address.id.bits.data])
        guard let row else { return nil }
        return try StoredRecord(row: row)
    }

    func record(_ collection: CollectionName, _ uid: UID) throws(AuthorityStoreFailure) -> StoredRecord? {
        let row = try row(
            "read a record", "SELECT \(StoredRecord.columns) FROM record WHERE collection = ? AND uid = ?",
            [collection.rawValue, uid.rawValue])
        guard let row else { return nil }
        return try StoredRecord(row: row)
    }

    func referrers(
        of target: RecordAddress, through fields: [ReferenceField], limit: Int
    ) throws(AuthorityStoreFailure) -> [Referrer] {
        var result: [Referrer] = []
        for field in fields where result.count < limit {
            let ids = try attempt("read who refers to a record") {
                try Data.fetchAll(
                    database.cachedStatement(
                        sql: """
                            SELECT id FROM reference
                            WHERE target_collection = ? AND target_id = ? AND collection = ? AND field = ?
                            LIMIT ?
                            """),
                    arguments: [
                        target.collection.rawValue, target.id.bits.data, field.collection.rawValue,
                        field.field.rawValue, limit - result.count,
                    ])
            }
            for id in ids {
                let record = RecordID(bits: try Identifier128(stored: id, "the id in a row of reference"))
                result.append(Referrer(RecordAddress(field.collection, record), field.field))
            }
        }
        return result
    }

    // MARK: Pages

    func rows(
        in space: SpaceID, of collection: CollectionName, after id: RecordID?, budget: PageBudget
    ) throws(AuthorityStoreFailure) -> RowSlice {
        var records: [StoredRecord] = []
        var bytes = 0
        var isComplete = true
        try attempt("read a page of records") {
            // The empty blob sorts before every id.
            let rows = try Row.fetchCursor(
                database.cachedStatement(
                    sql: """
                        SELECT \(StoredRecord.columns) FROM record
                        WHERE space = ? AND collection = ? AND id > ? AND deletion IS NULL ORDER BY id
                        """), arguments: [space.rawValue, collection.rawValue, id?.bits.data ?? Data()])
            while let row = try rows.next() {
                let isFull = records.count >= budget.rows || bytes >= budget.bytes
                if isFull, !records.isEmpty {
                    isComplete = false
                    return
                }
                let fields: String = row[7]
                bytes += fields.utf8.count + 64
                records.append(try StoredRecord(row: row))
            }
        }
        return RowSlice(records: records, bytes: bytes, isComplete: isComplete)
    }

    func commits(
        in space: SpaceID, after version: Version, budget: PageBudget
    ) throws(AuthorityStoreFailure) -> [Commit] {
        var commits: [Commit] = []
        var left = budget
        try attempt("read a page of the feed") {
            let rows = try Row.fetchCursor(
                database.cachedStatement(
                    sql: "SELECT version, changed, changes FROM log WHERE space = ? AND version > ? ORDER BY version"),
                arguments: [space.rawValue, version.rawValue])
            while let row = try rows.next() {
                let changed: Int = row[1]
                if !commits.isEmpty, changed > left.rows || left.bytes <= 0 { return }
                let text: String = row[2]
                left.rows -= changed
                left.bytes -= text.utf8.count
                commits.append(
                    Commit(version: Version(row[0]), changes: try StoredText.changes(text, "a row of log")))
            }
        }
        return commits
    }

    func author(of version: Version, in space: SpaceID) throws(AuthorityStoreFailure) -> CommitAuthor? {
        let row = try row(
            "read who made a commit",
            "SELECT principal, client, incarnation, number, at FROM log WHERE space = ? AND version = ?",
            [space.rawValue, version.rawValue])
        guard let row else { return nil }
        return try CommitAuthor(row: row, from: 0)
    }

    // MARK: Transactions from clients

    func ledger(of key: LedgerKey) throws(AuthorityStoreFailure) -> Ledger {
        let row = try row(
            "read a ledger",
            "SELECT next, acknowledged FROM ledger WHERE principal = ? AND client = ? AND incarnation = ?",
            [key.principal.name, key.identity.client.bits.data, key.identity.incarnation])
        return row.map { Ledger(next: TransactionNumber($0[0]), acknowledged: TransactionNumber($0[1])) } ?? .empty
    }

    func outcome(of key: LedgerKey, _ number: TransactionNumber) throws(AuthorityStoreFailure) -> StoredOutcome? {
        let row = try row(
            "read an outcome",
            "SELECT hash, outcome FROM outcome WHERE principal = ? AND client = ? AND incarnation = ? AND number = ?",
            [key.principal.name, key.identity.client.bits.data, key.identity.incarnation, number.rawValue])
        guard let row else { return nil }
        return StoredOutcome(
            hash: PayloadHash(rawValue: row[0]), outcome: try StoredText.outcome(row[1], "a row of outcome"))
    }

    func conflicts(
        in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreFailure) -> [RecordedConflict] {
        try conflicts("WHERE space = ? AND number > ? ORDER BY number LIMIT ?", [space.rawValue, number, limit])
    }

    func conflictCount() throws(AuthorityStoreFailure) -> Int {
        try row("count the conflicts", "SELECT count(*) FROM conflict", []).map { $0[0] } ?? 0
    }

    func notices(
        for clients: [ClientID], in space: SpaceID, after number: Int64, limit: Int
    ) throws(AuthorityStoreFailure) -> [RecordedConflict] {
        // One index lookup for each client, because there are few clients.
        var found: [RecordedConflict] = []
        for client in clients {
            found += try conflicts(
                "WHERE addressee = ? AND space = ? AND number > ? ORDER BY number LIMIT ?",
                [client.bits.data, space.rawValue, number, limit])
        }
        return Array(found.sorted { $0.number < $1.number }.prefix(limit))
    }

    private func conflicts(
        _ clause: String, _ arguments: StatementArguments
    ) throws(AuthorityStoreFailure) -> [RecordedConflict] {
        try attempt("read conflicts") {
            try Row.fetchAll(
                database.cachedStatement(sql: "SELECT \(RecordedConflict.columns) FROM conflict \(clause)"),
                arguments: arguments
            ).map { try RecordedConflict(row: $0) }
        }
    }

    func owner(of client: ClientID) throws(AuthorityStoreFailure) -> Principal? {
        try row("read the owner of a client id", "SELECT principal FROM client WHERE id = ?", [client.bits.data])
            .map { Principal(name: $0[0]) }
    }
}

extension CommitAuthor {
    /// Reads the principal, client, incarnation, number, and time from five columns.
    init(row: Row, from column: Int) throws(AuthorityStoreFailure) {
        let client = ClientID(bits: try Identifier128(stored: row[column + 1], "a client"))
        self.init(
            principal: Principal(name: row[column]),
            identity: ClientIdentity(client: client, incarnation: row[column + 2]),
            number: TransactionNumber(row[column + 3]), at: WallTime(milliseconds: row[column + 4]))
    }
}

extension RecordedConflict {
    /// The columns that `init(row:)` reads, in this order. The last two are the owners of the two clients.
    fileprivate static let columns = """
        number, space, version, collection, id, field, rule, field_values, winner, loser,
        principal, client, incarnation, transaction_number, at,
        (SELECT owner.principal FROM client AS owner WHERE owner.id = substr(winner, 9)),
        (SELECT owner.principal FROM client AS owner WHERE owner.id = substr(loser, 9))
        """

    fileprivate init(row: Row) throws(AuthorityStoreFailure) {
        let what = "a row of conflict"
        let values = try StoredText.patch(row[7], "the values in \(what)")
        guard let base = values["base"], let winner = values["winner"], let loser = values["loser"] else {
            throw AuthorityStoreFailure(.corrupt, "\(what) lacks a value")
        }
        let owners: (winner: String?, loser: String?) = (row[15], row[16])
        self.init(
            number: row[0], space: try SpaceID(stored: row[1], "the space in \(what)"), version: Version(row[2]),
            author: try CommitAuthor(row: row, from: 10),
            conflict: FieldConflict(
                collection: try CollectionName(stored: row[3], "the collection in \(what)"),
                record: RecordID(bits: try Identifier128(stored: row[4], "the id in \(what)")),
                field: try FieldName(stored: row[5], "the field in \(what)"), base: base,
                winner: Contender(
                    value: winner, stamp: try Stamp(stored: row[8], "the winner in \(what)"),
                    account: owners.winner.map(AccountID.init(rawValue:))),
                loser: Contender(
                    value: loser, stamp: try Stamp(stored: row[9], "the loser in \(what)"),
                    account: owners.loser.map(AccountID.init(rawValue:))),
                rule: ConflictRule(rawValue: row[6])))
    }
}
