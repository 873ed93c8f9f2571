import SQLiteDatabase
import SyncCore
import SyncModel

/// A record as the server last showed it, while changes of it are pending.
///
/// If the only pending changes are edits since then, the base is not stored: it is the row, with the edits undone. Each
/// edit holds the value before it, and does not change the row's versions. A record that no server has shown has
/// version 0, and so have records of a lost history, whose bases are always stored.
enum Base: Hashable {
    /// No server has shown the record.
    case absent
    /// A server has deleted the record.
    case deleted
    case shown(Record)

    var record: Record? {
        if case .shown(let record) = self { record } else { nil }
    }

    /// Returns the base of a record with pending changes, and the key of the space in which the server has shown the
    /// record; nil if no server has shown it.
    ///
    /// - Parameter transaction: returns the transaction of an outbox entry.
    static func read(
        _ id: RecordID, in table: RecordTable, _ connection: Connection, transaction: (Int64) throws -> Transaction
    ) throws -> (base: Base, space: Int64?) {
        if let stored = try stored(id, in: table, connection) { return stored }
        guard var row = try table.row(of: id, on: connection), row.record.version > .zero else { return (.absent, nil) }
        let pending = try PendingLinks.changes(of: id, in: table, connection)
        guard !pending.isEmpty else { return (.absent, nil) }
        var undone: Set<FieldName> = []
        for sequence in pending {
            for mutation in try transaction(sequence).mutations
            where mutation.record == id && mutation.collection == table.model.collection {
                guard case .update(let edits) = mutation.intent else { continue }
                // The oldest edit of a field has the value that the server has shown.
                for edit in edits where undone.insert(edit.field).inserted {
                    if let position = table.model.position(of: edit.field) { row.record.values[position] = edit.before }
                }
            }
        }
        return (.shown(row.record), row.space)
    }

    /// Returns the stored base of a record, and the key of the space in which the server has shown the record; nil if
    /// none is stored.
    static func stored(
        _ id: RecordID, in table: RecordTable, _ connection: Connection
    ) throws -> (base: Base, space: Int64?)? {
        let statement = try connection.statement(
            """
            SELECT is_deleted, uid, version, field_versions, fields, unknown, space FROM sync_base
            WHERE collection = ?1 AND id = ?2
            """)
        statement.bind(1, table.name)
        statement.bind(2, id)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let space = statement.isNull(6) ? nil : statement.integer(6)
        if statement.integer(0) != 0 { return (.deleted, space) }
        let version = Version(statement.integer(2))
        let shown = "the base of \(table.name) \(id)"
        var patch = try StoredForm.patch(from: statement.bytes(4), of: shown)
        if !statement.isNull(5) {
            for (name, value) in try StoredForm.patch(from: statement.bytes(5), of: shown) {
                patch.set(name, to: value)
            }
        }
        var record = Record(
            id: id, uid: UID(statement.integer(1)), version: version, creating: patch, schema: table.model)
        if !statement.isNull(3) {
            let versions = statement.withBytes(3) {
                FieldVersions.decode($0, order: table.columnOrder, version: version)
            }
            guard let versions else { throw StoreError(.corrupt, "\(shown): field_versions cannot be read") }
            record.fieldVersions = versions
        }
        return (.shown(record), space)
    }
}
