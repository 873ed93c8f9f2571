import SQLiteDatabase
import SyncCore
import SyncModel

// Copies what the server has shown. The next sync replaces these records with a snapshot, but compares them first: a
// server that was restored from an older copy may have lost what this device still has (I15).
extension Salvage {
    /// Copies the bases of records with pending changes, and of records whose pending changes were lost.
    ///
    /// - Parameters:
    ///   - keys: the new keys of the spaces by the old ones.
    ///   - doubtful: the result of `recordsOfLostEntries(_:)`.
    /// - Returns: the records with a base, and the number of records with pending changes whose base is lost.
    func takeOverBases(
        _ keys: [Int64: Int64], _ doubtful: DoubtfulRecords
    ) throws -> (places: Set<RecordPlace>, lost: Int) {
        var places: Set<RecordPlace> = []
        var uids: Set<[Int64]> = []
        func isFirst(_ record: Record, at place: RecordPlace) -> Bool {
            // Of two records with one uid, one is damaged.
            !record.uid.isValid || uids.insert([Int64(place.table), record.uid.rawValue]).inserted
        }
        _ = try damaged.forEachRow(of: "sync_base", orderedBy: ["collection", "id"]) { row in
            guard let table = row.text("collection").flatMap({ name in shownTables.first { $0.name == name } }),
                let id = row.recordID("id"), let space = row.integer("space").flatMap({ keys[$0] })
            else { return }
            let place = RecordPlace(table: table.position, id: id)
            guard !places.contains(place), let (base, lastValues) = base(in: row, id, table),
                base.record.map({ isFirst($0, at: place) }) ?? true
            else { return }
            try transaction.setBase(place, base, in: space, lastValues: lastValues)
            places.insert(place)
        }
        // A base that is not stored, or cannot be read, is computed from the record: the values before the pending
        // edits.
        var changed = try changedRecords(except: places)
        for table in shownTables where changed.keys.contains(where: { $0.table == table.position }) {
            _ = try damaged.forEachRow(of: table.quoted, by: "sync_row", columns: table.columns) { row in
                guard let stored = row.stored(in: table), let space = keys[stored.space] else { return }
                let place = RecordPlace(table: table.position, id: stored.record.id)
                guard let edits = changed[place], stored.record.uid.isValid, isFirst(stored.record, at: place) else {
                    return
                }
                var record = stored.record
                if doubtful.contains(place) { try doubt(&record, at: place) }
                if record.version == .zero, try !isFormer(place) { try markLost(place) }
                for edit in edits.reversed() {
                    guard let position = table.model.position(of: edit.field) else { continue }
                    record.values[position] = edit.before
                }
                try transaction.setBase(place, .shown(record), in: space)
                places.insert(place)
                changed[place] = nil
            }
        }
        return (places, changed.count)
    }

    /// Returns the records that entries of the outbox may have changed which cannot be read.
    ///
    /// - Parameter count: the number of lost entries; nil if it is not known.
    func recordsOfLostEntries(_ count: Int?) throws -> DoubtfulRecords {
        guard count != 0 else { return .some([]) }
        var places: Set<RecordPlace> = []
        var entries: Set<Int64> = []
        let key = ["collection", "id", "sequence", "link"]
        let isWhole = try damaged.forEachRow(of: "sync_pending", orderedBy: key) { row in
            guard row.text("link") == "changes", let sequence = row.integer("sequence"),
                try transaction.entry(sequence) == nil
            else { return }
            entries.insert(sequence)
            guard let id = row.recordID("id"),
                let table = row.text("collection").flatMap({ name in shownTables.first { $0.name == name } })
            else { return }
            places.insert(RecordPlace(table: table.position, id: id))
        }
        guard isWhole, let count, entries.count >= count else { return .all }
        return .some(places)
    }

    /// Makes a record look as if only a lost history had shown it, so that the next snapshot is compared with it.
    ///
    /// All its values count as this device's own. A value that the server has changed since is offered, too, but is not
    /// restored together with others.
    private func doubt(_ record: inout Record, at place: RecordPlace) throws {
        guard record.version > .zero else { return }
        let table = transaction.tables[place.table]
        // An unsent edit came after the version of its field.
        let own = record.values.indices.map {
            Version(record.version(ofFieldAt: $0).next.rawValue | WriteTransaction.ownBit)
        }
        let insert = try connection.statement(
            "INSERT OR IGNORE INTO sync_former (collection, id, version, field_versions) VALUES (?1, ?2, ?3, ?4)")
        insert.bind(1, table.name)
        insert.bind(2, place.id)
        insert.bind(3, record.version.rawValue)
        insert.bind(4, blob: FieldVersions.encode(own, order: table.columnOrder))
        try insert.run()
        record.version = .zero
        record.fieldVersions = []
    }

    /// Returns the records that pending transactions edit or delete, but do not create, with their edits, oldest first.
    private func changedRecords(except known: Set<RecordPlace>) throws -> [RecordPlace: [FieldEdit]] {
        var changed: [RecordPlace: [FieldEdit]] = [:]
        var created: Set<RecordPlace> = []
        try transaction.forEachEntry { entry in
            for mutation in entry.transaction.mutations {
                guard let table = transaction.tables.first(where: { $0.model.collection == mutation.collection })
                else { continue }
                let place = RecordPlace(table: table.position, id: mutation.record)
                switch mutation.intent {
                case .create: created.insert(place)
                case .update(let edits): changed[place, default: []] += edits
                case .delete: changed[place, default: []] += []
                }
            }
        }
        return changed.filter { !created.contains($0.key) && !known.contains($0.key) }
    }

    /// Returns a base, with the last values of a deleted record; nil when it cannot be read.
    private func base(
        in row: DamagedRow, _ id: RecordID, _ table: RecordTable
    ) -> (base: Base, lastValues: Patch?)? {
        guard let isDeleted = row.integer("is_deleted"), let fields = row.bytes("fields"),
            var patch = try? StoredForm.patch(from: fields, of: table.name)
        else { return nil }
        if isDeleted != 0 { return (.deleted, patch) }
        guard let uid = row.integer("uid"), let version = row.integer("version"), version >= 0 else { return nil }
        if let bytes = row.bytes("unknown") {
            guard let unknown = try? StoredForm.patch(from: bytes, of: table.name) else { return nil }
            for (name, value) in unknown { patch.set(name, to: value) }
        }
        var record = Record(id: id, uid: UID(uid), version: Version(version), creating: patch, schema: table.model)
        if let bytes = row.bytes("field_versions") {
            guard let versions = versions(bytes, at: record.version, in: table) else { return nil }
            record.fieldVersions = versions
        }
        return (.shown(record), nil)
    }

    /// Copies the rows of records without pending changes.
    ///
    /// A record that no server has shown is left out: its pending creation was lost.
    ///
    /// - Parameters:
    ///   - doubtful: the result of `recordsOfLostEntries(_:)`.
    ///   - visit: is called with each readable record, its place, and the new key of its space.
    func takeOverRows(
        _ keys: [Int64: Int64], _ doubtful: DoubtfulRecords, visit: (Record, RecordPlace, Int64) throws -> Void
    ) throws -> SalvageReport.Count {
        var saved = 0
        var unreadable = 0
        var isWhole = true
        for table in shownTables {
            isWhole =
                try damaged.forEachRow(of: table.quoted, by: "sync_row", columns: table.columns) { row in
                    guard let stored = row.stored(in: table), let space = keys[stored.space] else {
                        unreadable += 1
                        return
                    }
                    let place = RecordPlace(table: table.position, id: stored.record.id)
                    try visit(stored.record, place, space)
                    guard try !transaction.hasPending(place), try transaction.row(place) == nil else { return }
                    var record = stored.record
                    if doubtful.contains(place) { try doubt(&record, at: place) }
                    if record.version == .zero, try !isFormer(place) {
                        // No server has shown a record without a uid. If the record has a uid, its versions in a lost
                        // history could not be read.
                        guard record.uid.isValid else { return }
                        try markLost(place)
                    }
                    if try insert(StoredRow(record: record, space: space), place) {
                        saved += 1
                    } else {
                        unreadable += 1
                    }
                } && isWhole
        }
        isWhole = isWhole && shownTables.count == transaction.tables.count
        return SalvageReport.Count(saved: saved, lost: isWhole ? unreadable : nil)
    }

    /// Returns a mutation with the values of a row that are neither in its base nor in a readable entry of the outbox;
    /// nil when there are none.
    ///
    /// These values come from entries that could not be read.
    func changeOfLostEntry(in record: Record, at place: RecordPlace) throws -> Mutation? {
        let model = transaction.tables[place.table].model
        func mutation(_ intent: Mutation.Intent) -> Mutation {
            Mutation(collection: model.collection, record: place.id, time: .zero, intent: intent)
        }
        guard let known = try transaction.row(place)?.record else {
            let isShown = try record.version > .zero || record.uid.isValid || isFormer(place)
            return isShown ? nil : mutation(.create(record.patch(schema: model)))
        }
        let edits = model.fields.indices.filter { record.values[$0] != known.values[$0] }.map { index in
            FieldEdit(
                field: model.fields[index].name, value: record.values[index], before: known.values[index],
                seen: known.version(ofFieldAt: index))
        }
        return edits.isEmpty ? nil : mutation(.update(edits))
    }

    /// Inserts a row.
    ///
    /// - Returns: false when the row violates a constraint, for example because another record has its uid.
    private func insert(_ row: StoredRow, _ place: RecordPlace) throws -> Bool {
        let table = transaction.tables[place.table]
        let statement = try table.statement(.upsert, on: connection)
        do {
            try table.bind(row, to: statement)
            try statement.run()
            return true
        } catch let error as DatabaseError where error.code == .constraint {
            return false
        } catch let error as StoreError where error.code == .contradiction {
            statement.reset()
            return false
        }
    }

    /// Makes all values of a record count as lost if the current history does not have them.
    private func markLost(_ place: RecordPlace) throws {
        let insert = try connection.statement("INSERT INTO sync_former (collection, id, version) VALUES (?1, ?2, ?3)")
        insert.bind(1, transaction.tables[place.table].name)
        insert.bind(2, place.id)
        insert.bind(3, WriteTransaction.alwaysLost.rawValue)
        try insert.run()
    }

    private func isFormer(_ place: RecordPlace) throws -> Bool {
        let statement = try connection.statement("SELECT 1 FROM sync_former WHERE collection = ?1 AND id = ?2")
        statement.bind(1, transaction.tables[place.table].name)
        statement.bind(2, place.id)
        defer { statement.reset() }
        return try statement.step()
    }

    /// Copies the versions that records had in a lost history, of the records that have not been compared with the
    /// current history yet.
    func takeOverFormerVersions() throws {
        let insert = try connection.prepare(
            "INSERT OR IGNORE INTO sync_former (collection, id, version, field_versions) VALUES (?1, ?2, ?3, ?4)")
        _ = try damaged.forEachRow(of: "sync_former", orderedBy: ["collection", "id"]) { row in
            guard let table = row.text("collection").flatMap({ name in shownTables.first { $0.name == name } }),
                let id = row.recordID("id"), let version = row.integer("version"), version >= 0
            else { return }
            var encoded: [UInt8]?
            if let bytes = row.bytes("field_versions") {
                guard let versions = versions(bytes, at: Version(version), in: table) else { return }
                encoded = FieldVersions.encode(versions, order: transaction.tables[table.position].columnOrder)
            }
            insert.bind(1, table.name)
            insert.bind(2, id)
            insert.bind(3, version)
            insert.bind(4, blob: encoded)
            try insert.run()
        }
    }

    /// Copies the records of collections that the build of the damaged database did not know.
    func takeOverForeign(_ keys: [Int64: Int64]) throws {
        _ = try damaged.forEachRow(of: "sync_foreign", orderedBy: ["collection", "id"]) { row in
            guard let collection = row.text("collection").flatMap(CollectionName.init(rawValue:)),
                !transaction.knows(collection), let id = row.recordID("id"),
                let space = row.integer("space").flatMap({ keys[$0] }), let uid = row.integer("uid"),
                let version = row.integer("version"), version >= 0, let bytes = row.bytes("fields"),
                let fields = try? StoredForm.patch(from: bytes, of: collection.rawValue)
            else { return }
            try transaction.write(
                ForeignRow(
                    collection: collection,
                    record: Record(id: id, uid: UID(uid), version: Version(version), values: [], unknown: fields),
                    space: space))
        }
    }

    /// Decodes the versions of a record's fields; nil when they cannot be read.
    private func versions(_ bytes: [UInt8], at version: Version, in table: RecordTable) -> [Version]? {
        let versions = bytes.withUnsafeBytes {
            FieldVersions.decode($0, order: table.columnOrder, version: version)
        }
        return versions.flatMap { $0.allSatisfy { $0 >= .zero } ? $0 : nil }
    }

    /// Returns the tables whose columns in the damaged database are those of the model, each with the order of its
    /// columns there.
    static func shownTables(of tables: [RecordTable], in damaged: DamagedDatabase) -> [RecordTable] {
        tables.compactMap { table in
            guard let columns = damaged.columns(of: table.quoted) else { return nil }
            var table = table
            table.columnOrder = columns.dropFirst(Int(RecordTable.fixedColumns)).compactMap { column in
                table.model.fields.firstIndex { $0.name.rawValue == column }
            }
            return table.columnOrder.count == table.model.fields.count ? table : nil
        }
    }
}

/// The records that lost entries of the outbox may have changed.
///
/// If such a record has no stored base, its row may have values that nothing tells from those of the server. The next
/// snapshot is then compared with the row, and the journal offers the values that differ.
enum DoubtfulRecords {
    /// The links do not name the records of all lost entries: they cannot be read, or are older than the entries.
    case all
    case some(Set<RecordPlace>)

    func contains(_ place: RecordPlace) -> Bool {
        switch self {
        case .all: true
        case .some(let places): places.contains(place)
        }
    }
}

extension DamagedRow {
    fileprivate func recordID(_ name: String) -> RecordID? { identifier(name).map(RecordID.init(bits:)) }

    func identifier(_ name: String) -> Identifier128? {
        bytes(name).flatMap { $0.withUnsafeBytes { Identifier128(bytes: $0) } }
    }
}
