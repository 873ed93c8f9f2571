import SQLiteDatabase
import SyncCore
import SyncModel

// Records and values that the server sent before the application declared their models and fields.
extension CatalogMigration {
    /// Moves the records of a new table's collection out of `sync_foreign`. The server may have sent them to a build
    /// that did not know the collection.
    ///
    /// - Throws: `incompatibleModels` if the fields are not those of the records. The records have the server's types,
    ///   so without their values, this device would differ from all others and show no error.
    func adoptForeignRows(_ table: RecordTable) throws {
        let select = try connection.prepare(
            "SELECT id, space, uid, version, fields FROM sync_foreign WHERE collection = ?1 AND id > ?2 ORDER BY id LIMIT 1"
        )
        let incomplete = try IncompleteSpaces(in: connection)
        var after: RecordID?
        while true {
            select.bind(1, table.name)
            if let after { select.bind(2, after) } else { select.bind(2, blob: [] as [UInt8]) }
            guard try select.step() else { break }
            var row: StoredRow
            do {
                defer { select.reset() }
                let id = try select.recordID(0)
                after = id
                let fields = try StoredForm.patch(from: select.bytes(4), of: "\(table.name) \(id)")
                let version = Version(select.integer(3))
                // In the current history, the server may have given this uid to another record.
                let uid = version == .zero ? UID.none : UID(select.integer(2))
                row = StoredRow(
                    record: Record(
                        id: id, uid: uid, version: version,
                        values: Array(repeating: .null, count: table.model.fields.count), unknown: fields),
                    space: select.integer(1))
            }
            _ = try row.record.takeKnownFields(of: table.model)
            row.record.limitVersions(
                ofNewFields: Array(table.model.fields.indices), toFeedOf: incomplete.versions[row.space])
            let upsert = try table.statement(.upsert, on: connection)
            do {
                try table.bind(row, to: upsert)
                try upsert.run()
            } catch let error as DatabaseError where error.code == .constraint {
                // Two records have the same uid. The next snapshot decides which one keeps it; opening the database
                // must not fail.
                row.record.uid = .none
                try table.bind(row, to: upsert)
                try upsert.run()
            }
        }
        let delete = try connection.prepare("DELETE FROM sync_foreign WHERE collection = ?1")
        delete.bind(1, table.name)
        try delete.run()
    }

    /// Moves the values of new columns out of `sync_unknown`, and gives the new fields their versions.
    ///
    /// The server may have sent the values to a build that did not know the fields.
    ///
    /// - Parameter first: the first new column.
    /// - Throws: `incompatibleModels` if a new field has another type than its values.
    func takeNewFields(of table: RecordTable, from first: Int) throws {
        let own = try OwnVersions(in: connection)
        let incomplete = try IncompleteSpaces(in: connection)
        let new = Array(table.columnOrder[first...])
        try fillRows(of: table, new, own, incomplete)
        try checkBases(of: table, new)
        try limitBaseVersions(of: table, new, own, incomplete)
    }

    private func fillRows(
        of table: RecordTable, _ new: [Int], _ own: OwnVersions, _ incomplete: IncompleteSpaces
    ) throws {
        let find = try connection.prepare(
            """
            SELECT sync_row FROM \(table.quoted)
            WHERE sync_unknown IS NOT NULL OR sync_fields IS NOT NULL AND (sync_space, version) IN (\(OwnVersions.select))
                OR \(IncompleteSpaces.condition(space: "sync_space", of: table.quoted))
            """)
        var rows: [Int64] = []
        try find.forEachRow { rows.append($0.integer(0)) }
        let select = try connection.prepare("SELECT \(table.columns) FROM \(table.quoted) WHERE sync_row = ?1")
        for number in rows {
            select.bind(1, number)
            guard try select.step() else { continue }
            var row: StoredRow
            do {
                defer { select.reset() }
                row = try table.row(select)
            }
            let taken = try row.record.takeKnownFields(of: table.model)
            row.record.limitVersions(
                ofNewFields: new, taken: taken, to: own.latestForeign(upTo: row.record.version, in: row.space))
            row.record.limitVersions(ofNewFields: new, toFeedOf: incomplete.versions[row.space])
            let upsert = try table.statement(.upsert, on: connection)
            try table.bind(row, to: upsert)
            try upsert.run()
        }
    }

    /// Checks the types of the new fields' values in `sync_base`. A record whose deletion is pending has no others.
    private func checkBases(of table: RecordTable, _ new: [Int]) throws {
        let select = try connection.prepare(
            "SELECT id, unknown FROM sync_base WHERE collection = ?1 AND unknown IS NOT NULL")
        select.bind(1, table.name)
        try select.forEachRow { row in
            let id = try row.recordID(0)
            let unknown = try StoredForm.patch(from: row.bytes(1), of: "the base of \(table.name) \(id)")
            for field in new.map({ table.model.fields[$0] }) {
                if let value = unknown[field.name] { try table.model.refuse(value, ofOtherTypeIn: field) }
            }
        }
    }

    /// Gives the new fields in `sync_base` their versions. Their values are found by name when the base is read.
    private func limitBaseVersions(
        of table: RecordTable, _ new: [Int], _ own: OwnVersions, _ incomplete: IncompleteSpaces
    ) throws {
        let find = try connection.prepare(
            """
            SELECT id, unknown FROM sync_base
            WHERE collection = ?1 AND is_deleted = 0
                AND ((unknown IS NOT NULL OR field_versions IS NOT NULL) AND (space, version) IN (\(OwnVersions.select))
                    OR \(IncompleteSpaces.condition(space: "space", of: "sync_base")))
            """)
        find.bind(1, table.name)
        var found: [(id: RecordID, taken: [Int])] = []
        try find.forEachRow { row in
            let id = try row.recordID(0)
            let unknown =
                row.isNull(1)
                ? Patch() : try StoredForm.patch(from: row.bytes(1), of: "the base of \(table.name) \(id)")
            found.append((id, new.filter { unknown[table.model.fields[$0].name] != nil }))
        }
        let update = try connection.prepare(
            "UPDATE sync_base SET field_versions = ?3 WHERE collection = ?1 AND id = ?2")
        for (id, taken) in found {
            guard case (.shown(var record), let space?)? = try Base.stored(id, in: table, connection) else { continue }
            record.limitVersions(
                ofNewFields: new, taken: taken, to: own.latestForeign(upTo: record.version, in: space))
            record.limitVersions(ofNewFields: new, toFeedOf: incomplete.versions[space])
            update.bind(1, table.name)
            update.bind(2, id)
            update.bind(3, blob: FieldVersions.encode(record, order: table.columnOrder))
            try update.run()
        }
    }
}

extension ModelSchema {
    /// Refuses a value that the server has sent, if its type is not that of its field.
    ///
    /// A server never changes the type of a field, so this build has another declaration than the server. The target of
    /// a reference cannot be compared, because the value is only an id.
    fileprivate func refuse(_ value: FieldValue, ofOtherTypeIn field: FieldSchema) throws(StoreError) {
        guard let type = value.type, type != field.type else { return }
        throw StoreError(
            .incompatibleModels,
            """
            \(collection).\(field.name) is \(field.type.rawValue) in this build, but a record that the server has sent has \
            a value of type \(type.rawValue); declare the field with this type, or give it another name
            """)
    }
}

extension Record {
    /// Moves unknown fields that the schema now knows into `values`.
    ///
    /// - Returns: the positions of the fields.
    /// - Throws: `incompatibleModels` for a value whose type does not match its field.
    fileprivate mutating func takeKnownFields(of schema: ModelSchema) throws(StoreError) -> [Int] {
        var taken: [Int] = []
        for (name, value) in unknown {
            guard let position = schema.position(of: name) else { continue }
            try schema.refuse(value, ofOtherTypeIn: schema.fields[position])
            unknown.remove(name)
            values[position] = value
            taken.append(position)
        }
        return taken
    }

    /// Lowers the versions of fields that a build did not know.
    ///
    /// Without a version of its own, such a field has that of its record. If this device made the record's last commit,
    /// then another commit gave the field its value: this device did not know the field. With the version of an own
    /// commit, the value would count as this device's own when the server has lost its history (I15).
    ///
    /// - Parameters:
    ///   - new: the positions of the fields.
    ///   - taken: the positions of those that have values. The others may be empty since the creation of the record,
    ///     which no field is older than, and which may be an own commit.
    ///   - foreign: the latest version, at most the record's, of a commit of another device.
    fileprivate mutating func limitVersions(ofNewFields new: [Int], taken: [Int], to foreign: Version) {
        guard foreign < version else { return }
        var versions = values.indices.map { version(ofFieldAt: $0) }
        let oldest = versions.min() ?? version
        for position in new {
            // If no such commit is known, the value came with one that shares its version with an own commit.
            versions[position] = taken.contains(position) && foreign > .zero ? foreign : max(foreign, oldest)
        }
        fieldVersions = versions.allSatisfy { $0 == version } ? [] : versions
    }

    /// Lowers the versions of new fields of a record that a snapshot has shown ahead of the change feed.
    ///
    /// Commits of the feed have set values that the build did not know, whatever their versions were. The commits that
    /// follow must set the fields again.
    ///
    /// - Parameter feed: the version of the feed; nil if the space is complete.
    fileprivate mutating func limitVersions(ofNewFields new: [Int], toFeedOf feed: Version?) {
        guard let feed, feed < version else { return }
        var versions = values.indices.map { version(ofFieldAt: $0) }
        for position in new { versions[position] = min(versions[position], feed) }
        fieldVersions = versions.allSatisfy { $0 == version } ? [] : versions
    }
}

/// The spaces whose first or fresh copy is not complete, so that records can be ahead of the change feed.
private struct IncompleteSpaces {
    /// The version of the change feed of each space, by the key of the space.
    private(set) var versions: [Int64: Version] = [:]

    init(in connection: Connection) throws {
        try connection.prepare("SELECT key, version FROM sync_space WHERE phase IN ('snapshot', 'catching_up')")
            .forEachRow { versions[$0.integer(0)] = Version($0.integer(1)) }
    }

    /// Returns the SQL condition of a record that is ahead of the feed.
    ///
    /// - Parameters:
    ///   - space: the column with the key of the record's space.
    ///   - table: the table of the records.
    static func condition(space: String, of table: String) -> String {
        """
        EXISTS (SELECT 1 FROM sync_space AS incomplete
            WHERE incomplete.key = \(table).\(space) AND incomplete.phase IN ('snapshot', 'catching_up')
            AND \(table).version > incomplete.version)
        """
    }
}
