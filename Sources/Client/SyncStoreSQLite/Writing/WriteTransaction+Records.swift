import SQLiteDatabase
import SyncCore
import SyncModel

// Rows hold current records. The base of a record with pending changes is in `sync_base`, or follows from its row: see
// `Base`.
extension WriteTransaction {
    // MARK: Current

    func row(_ place: RecordPlace) throws -> StoredRow? {
        try tables[place.table].row(of: place.id, on: connection)
    }

    /// - Parameter isUIDFree: whether the caller knows that no other record has the uid.
    func write(_ row: StoredRow, to table: RecordTable, isUIDFree: Bool = false) throws {
        if mayHoldOldUIDs, !isUIDFree { try release(row.record.uid, for: row.record.id, in: table) }
        let statement = try table.statement(.upsert, on: connection)
        do {
            try table.bind(row, to: statement)
        } catch {
            statement.reset()
            throw error
        }
        do {
            try statement.run()
        } catch {
            guard error.code == .constraint,
                let holder = try holder(of: row.record.uid, besides: row.record.id, in: table)
            else { throw error }
            throw StoreError(
                .contradiction,
                "the server gives \(table.name) \(row.record.id) the uid \(row.record.uid), which \(table.name) \(holder.id) has; expected each uid once"
            )
        }
        change.touch(table.model.collection, row.record.id)
    }

    /// Writes the fields that a change of the server has set, and the versions, into the row of a record. Its space,
    /// uid, and unknown fields must not have changed.
    func update(_ record: Record, at key: Int64, fields: Patch, in table: RecordTable) throws {
        let positions = fields.compactMap { table.model.position(of: $0.field) }
        let statement = try table.updateStatement(of: positions, setsVersions: true, on: connection)
        do {
            try table.bind(record, at: key, fieldsAt: positions, to: statement)
        } catch {
            statement.reset()
            throw error
        }
        try statement.run()
        change.touch(table.model.collection, record.id)
    }

    /// Clears a uid, which the server has now given to the record `id`, on any other record that has it from a lost
    /// history.
    ///
    /// A server that was restored from a backup gives the same uids again, to other records (I15). A record from a lost
    /// history has version 0. A record that the current history has shown keeps its uid, and the page is refused (I13).
    /// The exception is a record that a fresh snapshot of its space has not shown yet: the snapshot decides which
    /// records exist.
    func release(_ uid: UID, for id: RecordID, in table: RecordTable) throws {
        guard uid.isValid else { return }
        // The SELECT comes first because a holder exists only after a restore, and an UPDATE that finds nothing takes
        // several times as long as the SELECT.
        if let holder = try holder(of: uid, besides: id, in: table), try mayLoseUID(holder, in: table) {
            try setUID(.none, of: holder.id, in: table)
            // The base of a record with pending changes has the same uid.
            try clearBaseUID(of: holder.id, in: table)
        }
        let base = try connection.statement(
            "SELECT id FROM sync_base WHERE uid = ?1 AND uid >= 0 AND id <> ?2 AND version = 0 AND collection = ?3")
        base.bind(1, uid.rawValue)
        base.bind(2, id)
        base.bind(3, table.name)
        if let holder = try firstID(base) { try clearBaseUID(of: holder, in: table) }
    }

    /// The record that holds a uid.
    private struct Holder {
        let id: RecordID
        let version: Version
        let space: Int64
    }

    private func holder(of uid: UID, besides id: RecordID, in table: RecordTable) throws -> Holder? {
        let row = try table.statement(.selectHolder, on: connection)
        row.bind(1, uid.rawValue)
        row.bind(2, id)
        guard try row.step() else { return nil }
        defer { row.reset() }
        return Holder(id: try row.recordID(0), version: Version(row.integer(1)), space: row.integer(2))
    }

    private func mayLoseUID(_ holder: Holder, in table: RecordTable) throws -> Bool {
        if holder.version == .zero { return true }
        guard holder.space == freshSnapshot else { return false }
        let seen = try connection.statement("SELECT 1 FROM sync_seen WHERE space = ?1 AND collection = ?2 AND id = ?3")
        seen.bind(1, holder.space)
        seen.bind(2, table.name)
        seen.bind(3, holder.id)
        defer { seen.reset() }
        return try !seen.step()
    }

    private func clearBaseUID(of id: RecordID, in table: RecordTable) throws {
        let clearing = try connection.statement("UPDATE sync_base SET uid = -1 WHERE collection = ?1 AND id = ?2")
        clearing.bind(1, table.name)
        clearing.bind(2, id)
        try clearing.run()
    }

    private func firstID(_ statement: Statement) throws -> RecordID? {
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return try statement.recordID(0)
    }

    /// Sets the uid of a record.
    ///
    /// - Returns: false if another record has this uid. Then nothing has changed.
    @discardableResult
    func setUID(_ uid: UID, of id: RecordID, in table: RecordTable) throws -> Bool {
        let statement = try connection.statement(composed: table.setUID)
        statement.bind(1, id)
        statement.bind(2, uid.rawValue)
        do {
            try statement.run()
        } catch {
            guard error.code == .constraint else { throw error }
            return false
        }
        return true
    }

    func deleteRow(_ place: RecordPlace) throws {
        let statement = try tables[place.table].statement(.deleteByID, on: connection)
        statement.bind(1, place.id)
        try statement.run()
        change.touch(tables[place.table].model.collection, place.id)
    }

    // MARK: Base

    func base(_ place: RecordPlace) throws -> Base {
        try shownBase(place).base
    }

    /// Returns a record's base, and the key of the space in which the server has shown the record; nil if no server has
    /// shown it.
    func shownBase(_ place: RecordPlace) throws -> (base: Base, space: Int64?) {
        try Base.read(place.id, in: tables[place.table], connection) { try transaction(at: $0) }
    }

    /// Stores the base of a record with pending changes, if it follows from the row. Must be called before the row or
    /// the pending changes are replaced in any other way than by another edit.
    func storeBase(_ place: RecordPlace) throws {
        guard try Base.stored(place.id, in: tables[place.table], connection) == nil,
            case (.shown(let record), let space?) = try shownBase(place)
        else { return }
        try setBase(place, .shown(record), in: space)
    }

    /// Stores the bases of all records with pending changes. Only rows with a version have a base that is not stored
    /// yet.
    func storeBases() throws {
        for table in tables {
            let pending = try connection.statement(
                composed:
                    """
                    SELECT DISTINCT id FROM sync_pending AS link WHERE collection = ?1 AND link = 'changes' AND NOT EXISTS
                        (SELECT 1 FROM sync_base WHERE sync_base.collection = ?1 AND sync_base.id = link.id)
                        AND EXISTS (SELECT 1 FROM \(table.quoted) AS live WHERE live.id = link.id AND live.version > 0)
                    """)
            pending.bind(1, table.name)
            for place in try places(in: table, from: pending) { try storeBase(place) }
        }
    }

    /// Stores a record's base; `absent` deletes it.
    ///
    /// - Parameters:
    ///   - space: the key of the space in which the server has shown the record or its deletion.
    ///   - known: the last values of a deleted record; nil for those of its present base.
    func setBase(_ place: RecordPlace, _ base: Base, in space: Int64, lastValues known: Patch? = nil) throws {
        let table = tables[place.table]
        let statement = try connection.statement(
            """
            INSERT INTO sync_base (collection, id, is_deleted, uid, version, field_versions, fields, unknown, space)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            ON CONFLICT (collection, id) DO UPDATE SET
                is_deleted = ?3, uid = ?4, version = ?5, field_versions = ?6, fields = ?7, unknown = ?8, space = ?9
            """)
        switch base {
        case .absent: return try dropBase(place)
        case .deleted:
            let last = try known ?? shownBase(place).base.record?.patch(schema: table.model)
            // The base is already marked as deleted. Keep it, with the values from before the deletion.
            if last == nil, try lastValues(of: place) != nil { return }
            statement.bind(3, 1)
            statement.bind(4, UID.none.rawValue)
            statement.bind(5, 0)
            statement.bind(6, blob: nil)
            // A deleted base has no record. Only the journal reads these values, if the server rejects pending edits.
            statement.bind(7, text: try StoredForm.bytes(of: last ?? Patch()))
            statement.bind(8, nil as String?)
        case .shown(let record):
            // The row of a record whose deletion is pending is not written now, but it returns if the server rejects
            // the deletion. Its uid must be unique then.
            if mayHoldOldUIDs { try release(record.uid, for: record.id, in: table) }
            statement.bind(3, 0)
            statement.bind(4, record.uid.rawValue)
            statement.bind(5, record.version.rawValue)
            statement.bind(6, blob: FieldVersions.encode(record, order: table.columnOrder))
            statement.bind(7, text: try StoredForm.bytes(of: record.patch(schema: table.model)))
            if record.unknown.isEmpty {
                statement.bind(8, nil as String?)
            } else {
                statement.bind(8, text: try StoredForm.bytes(of: record.unknown))
            }
        }
        statement.bind(1, table.name)
        statement.bind(2, place.id)
        statement.bind(9, space)
        try statement.run()
    }

    /// Returns the current values of a record with pending changes or, if it is deleted here or on the server, the last
    /// values that the server has shown; nil for a record that no server has shown, or without pending changes.
    func lastValues(of place: RecordPlace) throws -> Patch? {
        let table = tables[place.table]
        let statement = try connection.statement("SELECT fields FROM sync_base WHERE collection = ?1 AND id = ?2")
        statement.bind(1, table.name)
        statement.bind(2, place.id)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        if let record = try row(place)?.record { return record.patch(schema: table.model) }
        let patch = try StoredForm.patch(from: statement.bytes(0), of: "the base of \(table.name) \(place.id)")
        return patch.isEmpty ? nil : patch
    }

    func dropBase(_ place: RecordPlace) throws {
        let statement = try connection.statement("DELETE FROM sync_base WHERE collection = ?1 AND id = ?2")
        statement.bind(1, tables[place.table].name)
        statement.bind(2, place.id)
        try statement.run()
    }

    /// Returns the records of a table whose ids are in the first column of a statement.
    func places(in table: RecordTable, from statement: Statement) throws -> [RecordPlace] {
        defer { statement.reset() }
        var places: [RecordPlace] = []
        while try statement.step() {
            places.append(RecordPlace(table: table.position, id: try statement.recordID(0)))
        }
        return places
    }

    // MARK: Current and base

    /// Stores the base of a record with pending changes, and rewrites its row.
    func rebase(_ place: RecordPlace, on base: Base, in space: Int64) throws {
        try setBase(place, base, in: space)
        try recompute(place, from: base == .absent ? nil : (base, space))
    }

    /// Rewrites the row from its stored base and its pending changes, and drops the base once nothing is pending.
    ///
    /// The record lives in the space where the server has shown it, or else in the space of its oldest pending change.
    /// Pending changes in another space, where this device created the same id, do not apply.
    ///
    /// - Parameter known: the base that has just been stored, with its space.
    func recompute(_ place: RecordPlace, from known: (base: Base, space: Int64?)? = nil) throws {
        let table = tables[place.table]
        let (base, home) = try known ?? Base.stored(place.id, in: table, connection) ?? (.absent, nil)
        let pending = try pendingTransactions(of: place)
        if pending.isEmpty { try dropBase(place) }
        var space = home
        if space == nil, let oldest = pending.first { space = try key(of: oldest.space) }
        guard base != .deleted, let space else { return try deleteRow(place) }

        var mutations: [Mutation] = []
        for transaction in pending where try key(of: transaction.space) == space {
            mutations += transaction.mutations.filter {
                $0.record == place.id && $0.collection == table.model.collection
            }
        }
        guard var current = Overlay.current(base: base.record, applying: mutations, schema: table.model) else {
            return try deleteRow(place)
        }
        if !current.uid.isValid, let known = try row(place), known.space == space {
            // The outcome arrived before the page, so the record keeps the uid that the outcome assigned.
            current.uid = known.record.uid
        }
        // Storing the base has freed the uid.
        let isUIDFree = known?.base.record?.uid == current.uid
        try write(StoredRow(record: current, space: space), to: table, isUIDFree: isUIDFree)
    }
}
