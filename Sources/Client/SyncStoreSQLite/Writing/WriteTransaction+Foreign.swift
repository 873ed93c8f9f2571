import SQLiteDatabase
import SyncCore
import SyncModel

/// A row of `sync_foreign`: a record of a collection that this build does not know.
struct ForeignRow {
    let collection: CollectionName
    var record: Record
    /// The key of the space in which the record lives.
    let space: Int64
}

// Collections that a newer server has and this build does not know. Their records are stored unchanged, and everything
// else is applied as usual.
extension WriteTransaction {
    func knows(_ collection: CollectionName) -> Bool {
        catalog[collection] != nil
    }

    func foreignRow(_ collection: CollectionName, _ id: RecordID) throws -> ForeignRow? {
        let statement = try connection.statement(
            "SELECT space, uid, version, fields FROM sync_foreign WHERE collection = ?1 AND id = ?2")
        statement.bind(1, collection.rawValue)
        statement.bind(2, id)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let fields = try StoredForm.patch(from: statement.bytes(3), of: "\(collection) \(id)")
        return ForeignRow(
            collection: collection,
            record: Record(
                id: id, uid: UID(statement.integer(1)), version: Version(statement.integer(2)), values: [],
                unknown: fields), space: statement.integer(0))
    }

    /// Stores a snapshot's records of a collection that this build does not know.
    func applyForeign(_ group: SnapshotRows, to space: SpaceRow) throws {
        let seen = try connection.statement(
            "INSERT OR IGNORE INTO sync_seen (space, collection, id) VALUES (?1, ?2, ?3)")
        for record in group.records {
            guard record.uid.isValid, record.version > .zero else {
                throw StoreError(
                    .contradiction,
                    "the server shows \(group.collection) \(record.id) with uid \(record.uid) and version \(record.version)"
                )
            }
            try write(ForeignRow(collection: group.collection, record: record, space: space.key))
            guard space.marks else { continue }
            seen.bind(1, space.key)
            seen.bind(2, group.collection.rawValue)
            seen.bind(3, record.id)
            try seen.run()
        }
    }

    /// Applies a commit's change to a record of a collection that this build does not know.
    func applyForeign(_ change: RecordChange, at version: Version, in space: SpaceRow) throws {
        let old = try foreignRow(change.collection, change.id)
        if old?.record.version == .zero, old?.space != space.key {
            guard case .created = change.effect else { return }
        }
        // With an empty schema, all values of the record are unknown fields.
        let schema = ModelSchema(collection: change.collection, fields: [])
        var record: Record?
        switch (change.effect, old?.record) {
        case (.deleted, _): record = nil
        case (.created(let uid, let patch), let known):
            guard uid.isValid else {
                throw StoreError(
                    .contradiction, "version \(version) gives \(change.collection) \(change.id) uid \(uid)")
            }
            // A page of a snapshot may be ahead of the feed.
            record =
                known.map { $0.version > .zero ? $0.updated(by: patch, at: version, schema: schema) : nil }
                ?? Record(id: change.id, uid: uid, version: version, creating: patch, schema: schema)
        case (.updated(let patch), let known?):
            record = known.updated(by: patch, at: version, schema: schema)
        case (.updated, nil):
            guard space.phase != .complete else {
                throw StoreError(
                    .contradiction,
                    "version \(version) updates \(change.collection) \(change.id), which does not exist here")
            }
            return
        }
        guard let record else { return try deleteForeign(change.collection, change.id) }
        try write(ForeignRow(collection: change.collection, record: record, space: space.key))
    }

    func write(_ row: ForeignRow) throws {
        let statement = try connection.statement(
            """
            INSERT OR REPLACE INTO sync_foreign (collection, id, space, uid, version, fields)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """)
        statement.bind(1, row.collection.rawValue)
        statement.bind(2, row.record.id)
        statement.bind(3, row.space)
        statement.bind(4, row.record.uid.rawValue)
        statement.bind(5, row.record.version.rawValue)
        statement.bind(6, text: try StoredForm.bytes(of: row.record.unknown))
        try statement.run()
    }

    private func deleteForeign(_ collection: CollectionName, _ id: RecordID) throws {
        let statement = try connection.statement("DELETE FROM sync_foreign WHERE collection = ?1 AND id = ?2")
        statement.bind(1, collection.rawValue)
        statement.bind(2, id)
        try statement.run()
    }

    /// Deletes the records that a completed snapshot of the space did not contain.
    func sweepForeign(in space: SpaceRow) throws {
        let statement = try connection.statement(
            """
            DELETE FROM sync_foreign WHERE space = ?1 AND NOT EXISTS
                (SELECT 1 FROM sync_seen AS seen WHERE seen.space = ?1 AND seen.collection = sync_foreign.collection
                AND seen.id = sync_foreign.id)
            """)
        statement.bind(1, space.key)
        try statement.run()
    }

    func holdsForeign(in space: SpaceRow) throws -> Bool {
        let statement = try connection.statement("SELECT 1 FROM sync_foreign WHERE space = ?1 LIMIT 1")
        statement.bind(1, space.key)
        defer { statement.reset() }
        return try statement.step()
    }

    /// Deletes all records of a space to which the account has lost access.
    func vacateForeign(in space: SpaceRow) throws {
        let statement = try connection.statement("DELETE FROM sync_foreign WHERE space = ?1")
        statement.bind(1, space.key)
        try statement.run()
    }
}
