/// A table of the authority's database, with the statements that copy it from one database to another.
///
/// The tables, their columns, and their order of rows are the same in SQLite and in PostgreSQL.
struct StoreTable: Sendable {
    enum ColumnKind: Sendable {
        case integer, text, blob
    }

    let name: String
    let columns: [ColumnKind]
    /// Reads all rows, in the order of their keys.
    let select: StaticString
    let insert: StaticString
    let delete: StaticString

    /// Returns the values of the current row.
    func values(in cursor: some SQLCursor) -> [StoredValue?] {
        columns.indices.map { index in
            let column = Int32(index)
            if cursor.isNull(column) { return nil }
            return switch columns[index] {
            case .integer: .integer(cursor.integer(column))
            case .text: .utf8(cursor.bytes(column))
            case .blob: .blob(cursor.bytes(column))
            }
        }
    }

    /// All tables except `server`, which has one row in every database.
    ///
    /// - Parameter insertConflict: the statement that inserts a conflict with a given number.
    static func all(insertConflict: StaticString) -> [StoreTable] {
        [
            catalog, space, member, record, uidCounter, reference, changeFeed, client, ledger, outcome,
            conflict(insert: insertConflict), conflictTotal,
        ]
    }

    private static let catalog = StoreTable(
        name: "catalog", columns: [.integer, .text],
        select: "SELECT singleton, models FROM catalog ORDER BY singleton",
        insert: "INSERT INTO catalog (singleton, models) VALUES ($1, $2)", delete: "DELETE FROM catalog")

    private static let space = StoreTable(
        name: "space", columns: [.text, .integer, .integer, .blob, .integer],
        select: "SELECT name, head, horizon, horizon_chain, horizon_bytes FROM space ORDER BY name",
        insert: "INSERT INTO space (name, head, horizon, horizon_chain, horizon_bytes) VALUES ($1, $2, $3, $4, $5)",
        delete: "DELETE FROM space")

    private static let member = StoreTable(
        name: "member", columns: [.text, .text, .text],
        select: "SELECT space, principal, role FROM member ORDER BY space, principal",
        insert: "INSERT INTO member (space, principal, role) VALUES ($1, $2, $3)", delete: "DELETE FROM member")

    private static let record = StoreTable(
        name: "record",
        columns: [.text, .blob, .integer, .text, .integer, .blob, .blob, .text, .blob, .blob],
        select: """
            SELECT collection, id, uid, space, version, creation, deletion, fields, origins, equal_edits
            FROM record ORDER BY collection, id
            """,
        insert: """
            INSERT INTO record (collection, id, uid, space, version, creation, deletion, fields, origins, equal_edits)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
            """,
        delete: "DELETE FROM record")

    private static let uidCounter = StoreTable(
        name: "uid_counter", columns: [.text, .integer],
        select: "SELECT collection, next FROM uid_counter ORDER BY collection",
        insert: "INSERT INTO uid_counter (collection, next) VALUES ($1, $2)", delete: "DELETE FROM uid_counter")

    private static let reference = StoreTable(
        name: "reference", columns: [.text, .blob, .text, .text, .blob],
        select: """
            SELECT target_collection, target_id, collection, field, id
            FROM reference ORDER BY target_collection, target_id, collection, field, id
            """,
        insert: """
            INSERT INTO reference (target_collection, target_id, collection, field, id) VALUES ($1, $2, $3, $4, $5)
            """,
        delete: "DELETE FROM reference")

    private static let changeFeed = StoreTable(
        name: "change_feed",
        columns: [.text, .integer, .blob, .integer, .integer, .text, .text, .blob, .integer, .integer, .integer],
        select: """
            SELECT space, version, chain, total_bytes, changed, changes, principal, client, incarnation, number, at
            FROM change_feed ORDER BY space, version
            """,
        insert: """
            INSERT INTO change_feed (space, version, chain, total_bytes, changed, changes, principal, client, incarnation,
                number, at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
            """,
        delete: "DELETE FROM change_feed")

    private static let client = StoreTable(
        name: "client", columns: [.blob, .text, .blob],
        select: "SELECT id, principal, replaced_by FROM client ORDER BY id",
        insert: "INSERT INTO client (id, principal, replaced_by) VALUES ($1, $2, $3)", delete: "DELETE FROM client")

    private static let ledger = StoreTable(
        name: "ledger", columns: [.text, .blob, .integer, .integer, .integer],
        select: """
            SELECT principal, client, incarnation, next, acknowledged
            FROM ledger ORDER BY principal, client, incarnation
            """,
        insert: """
            INSERT INTO ledger (principal, client, incarnation, next, acknowledged) VALUES ($1, $2, $3, $4, $5)
            """,
        delete: "DELETE FROM ledger")

    private static let outcome = StoreTable(
        name: "outcome", columns: [.text, .blob, .integer, .integer, .text, .integer, .text],
        select: """
            SELECT principal, client, incarnation, number, hash, bytes, outcome
            FROM outcome ORDER BY principal, client, incarnation, number
            """,
        insert: """
            INSERT INTO outcome (principal, client, incarnation, number, hash, bytes, outcome)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            """,
        delete: "DELETE FROM outcome")

    private static func conflict(insert: StaticString) -> StoreTable {
        StoreTable(
            name: "conflict",
            columns: [
                .integer, .text, .integer, .text, .blob, .text, .text, .integer, .text, .blob, .blob, .blob, .text,
                .blob, .integer, .integer, .integer,
            ],
            select: """
                SELECT number, space, version, collection, id, field, rule, bytes, field_values, winner, loser, recipient,
                    principal, client, incarnation, transaction_number, at
                FROM conflict ORDER BY number
                """,
            insert: insert, delete: "DELETE FROM conflict")
    }

    private static let conflictTotal = StoreTable(
        name: "conflict_total", columns: [.blob, .text, .integer, .integer, .integer],
        select: """
            SELECT recipient, space, conflicts, bytes, removed FROM conflict_total ORDER BY recipient, space
            """,
        insert: """
            INSERT INTO conflict_total (recipient, space, conflicts, bytes, removed) VALUES ($1, $2, $3, $4, $5)
            """,
        delete: "DELETE FROM conflict_total")
}
