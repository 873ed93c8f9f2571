import SQLiteDatabase
import SyncCore
import SyncModel

// Reads each row of each table.
extension Verification {
    /// The fixed tables, each with the check of its rows. Every table of the schema is here.
    static let checks: [(table: String, check: @Sendable (Verification) throws -> Void)] = [
        ("sync_migration", { try $0.each("sync_migration") { _ in } }),
        ("sync_meta", { try $0.checkMeta() }),
        ("sync_contact", { try $0.checkContact() }),
        ("sync_former_client", { try $0.checkFormerClients() }),
        ("sync_unfollowed", { try $0.checkUnfollowed() }),
        ("sync_field", { try $0.checkFields() }),
        ("sync_space", { try $0.checkSpaces() }),
        ("sync_outbox", { try $0.checkOutbox() }),
        ("sync_pending", { try $0.checkPending() }),
        ("sync_base", { try $0.checkBases() }),
        ("sync_journal", { try $0.checkJournal() }),
        ("sync_conflict", { try $0.checkConflicts() }),
        ("sync_seen", { try $0.checkRecords(of: "sync_seen") { _ in } }),
        ("sync_former", { try $0.checkFormerVersions() }),
        ("sync_foreign", { try $0.checkValues(of: "sync_foreign") }),
        ("sync_deleted", { try $0.checkValues(of: "sync_deleted") }),
        ("sync_replacement", { try $0.checkReplacements() }),
        ("sync_dropped_reference", { try $0.checkDroppedReferences() }),
        ("sync_confirmed", { try $0.checkConfirmed() }),
        ("sync_server_models", { try $0.each("sync_server_models") { _ in } }),
        // `StoredModels.check` decodes the models.
        ("sync_catalog", { try $0.each("sync_catalog") { _ in } }),
        ("sync_recording_segment", { try $0.each("sync_recording_segment") { _ in } }),
        ("sync_recording_turn", { try $0.checkRecording() }),
    ]

    func checkRows() throws {
        for (_, check) in Self.checks { try check(self) }
        try checkSequences()
        for table in tables { try checkRecords(of: table) }
    }

    /// Calls `body` for each row of a table, after checking that its texts are UTF-8.
    ///
    /// - Parameter columns: the columns that `body` reads, which come first. All others follow.
    private func each(
        _ table: String, _ columns: String = "found.*", _ body: (Statement) throws -> Void
    ) throws {
        let all = columns == "found.*" ? columns : "\(columns), found.*"
        try connection.prepare("SELECT \(all) FROM \(RecordTable.quote(table)) AS found").forEachRow { row in
            if let column = row.columnOfInvalidText {
                try expect(false, "\(table).\(column) holds a text that is not UTF-8")
            }
            try body(row)
        }
    }

    // MARK: Identity and server

    private func checkMeta() throws {
        guard let meta = try Meta.load(connection) else { throw StoreError.withoutIdentity }
        try expect(meta.nextNumber.rawValue >= 0, "sync_meta.next_number is \(meta.nextNumber)")
        try each("sync_meta", "fate_unknown_up_to, clock") { row in
            try expect(row.integer(0) >= 0, "sync_meta.fate_unknown_up_to is \(row.integer(0))")
            try expect(row.integer(1) >= 0, "sync_meta.clock is \(row.integer(1))")
        }
    }

    private func checkContact() throws {
        try each("sync_contact") { _ in }
        _ = try ServerContact.load(connection)
    }

    private func checkFormerClients() throws {
        try each("sync_former_client", "client") { row in
            try expect(
                ClientID(row.text(0)) != nil,
                "sync_former_client holds '\(row.text(0))', which is not a valid client id")
        }
    }

    private func checkFields() throws {
        var next: [String: Int64] = [:]
        try each("sync_field", "collection, position, field") { row in
            let collection = row.text(0)
            let position = row.text(2).isEmpty ? -1 : next[collection, default: 0]
            try expect(
                row.integer(1) == position,
                "sync_field has position \(row.integer(1)) of \(collection); expected \(position)")
            next[collection] = position + 1
        }
    }

    private func checkSpaces() throws {
        for space in try SpaceRow.all(connection) {
            let numbers = [
                space.version.rawValue, space.notice, space.completeAt.rawValue, space.shown.rows,
                Int64(space.heldBefore), space.receipt?.version.rawValue ?? 0,
            ]
            try expect(numbers.allSatisfy { $0 >= 0 }, "sync_space has a negative number for \(space.space)")
        }
        try each("sync_space", "name, shown_collections") { row in
            for name in row.text(1).split(separator: " ") {
                try expect(
                    CollectionName(rawValue: String(name)) != nil,
                    "sync_space.shown_collections of \(row.text(0)) holds '\(name)'")
            }
        }
    }

    private func checkUnfollowed() throws {
        try each("sync_unfollowed", "name, receipt_version") { row in
            try expect(SpaceID(rawValue: row.text(0)) != nil, "sync_unfollowed holds the space '\(row.text(0))'")
            try expect(row.integer(1) >= 0, "sync_unfollowed has a negative version for \(row.text(0))")
        }
    }

    // MARK: Outbox

    private func checkOutbox() throws {
        let link = try connection.prepare(
            "SELECT 1 FROM sync_pending WHERE collection = ?1 AND id = ?2 AND sequence = ?3 AND link = 'changes'")
        let next = try Meta.load(connection)?.nextNumber ?? .first
        try each("sync_outbox", StoredEntry.columns) { row in
            let entry = try StoredEntry(row)
            let name = "outbox entry \(entry.sequence)"
            let number = entry.number
            try expect(
                number.map { $0.rawValue >= 0 && $0 < next } ?? (entry.version == nil),
                "\(name) has the number \(number.map(\.description) ?? "NULL"), and the next number is \(next)")
            try expect(entry.attempts >= 0 && entry.version?.rawValue ?? 0 >= 0, "\(name) has a negative number")
            for mutation in entry.transaction.mutations {
                let table = try table(mutation.collection.rawValue, of: name)
                link.bind(1, table.name)
                link.bind(2, mutation.record)
                link.bind(3, entry.sequence)
                let isLinked = try link.first { _ in true } ?? false
                try expect(isLinked, "sync_pending does not have \(mutation.address) of \(name)")
            }
        }
    }

    private func checkPending() throws {
        try checkRecords(of: "sync_pending") { _ in }
        try expectNone(
            """
            SELECT sequence FROM sync_pending AS link
            WHERE NOT EXISTS (SELECT 1 FROM sync_outbox WHERE sync_outbox.sequence = link.sequence) LIMIT 1
            """
        ) { "sync_pending has records of outbox entry \($0), which does not exist" }
    }

    private func checkBases() throws {
        try checkRecords(of: "sync_base", "fields, unknown, version, field_versions, is_deleted") { row in
            let place = "the base of \(row.text(0)) \(try row.recordID(1))"
            _ = try StoredForm.patch(from: row.bytes(2), of: place)
            if !row.isNull(3) { _ = try StoredForm.patch(from: row.bytes(3), of: place) }
            try checkVersions(row, at: (4, 5), of: try table(row.text(0), of: place), place)
            try expect((0...1).contains(row.integer(6)), "\(place): is_deleted is \(row.integer(6))")
        }
    }

    // MARK: Journal

    private func checkJournal() throws {
        try each("sync_journal", "number, space, bytes, own_part") { row in
            let number = row.integer(0)
            let name = "journal entry \(number)"
            try expect(
                row.optionalText(1).map { SpaceID(rawValue: $0) != nil } ?? true,
                "\(name) has the space '\(row.text(1))'")
            _ = try row.count(2, "the size of \(name)")
            if !row.isNull(3) { _ = try StoredForm.transaction(from: row.bytes(3), of: "the own part of \(name)") }
            // A merge without its conflicting values is useless.
            switch try JournalReading.entry(number, connection)?.event {
            case .merged(let conflicts), .overwritten(let conflicts, deleted: nil):
                try expect(!conflicts.isEmpty, "\(name) has lost its conflicts")
            case .rejected, .cancelled, .lost, .overwritten, .noticesRemoved: break
            case nil: try expect(false, "\(name) cannot be found by its number")
            }
        }
    }

    private func checkConflicts() throws {
        try checkRecords(of: "sync_conflict") { _ in }
        try expectNone(
            """
            SELECT journal FROM sync_conflict
            WHERE NOT EXISTS (SELECT 1 FROM sync_journal WHERE number = sync_conflict.journal) LIMIT 1
            """
        ) { "sync_conflict has conflicts of journal entry \($0), which does not exist" }
    }

    private func checkReplacements() throws {
        try checkRecords(of: "sync_replacement", "replacement") { row in _ = try row.recordID(2) }
    }

    private func checkDroppedReferences() throws {
        try checkRecords(of: "sync_dropped_reference", "field, target, held") { row in
            try expect(
                FieldName(rawValue: row.text(2)) != nil, "sync_dropped_reference has the field name '\(row.text(2))'")
            _ = try row.recordID(3)
            if !row.isNull(4) { _ = try row.recordID(4) }
        }
    }

    // MARK: Lost histories

    private func checkFormerVersions() throws {
        try checkRecords(of: "sync_former", "version, field_versions") { row in
            let place = "the former versions of \(row.text(0)) \(try row.recordID(1))"
            try checkVersions(row, at: (2, 3), of: try table(row.text(0), of: place), place)
        }
    }

    private func checkConfirmed() throws {
        try each("sync_confirmed", "slot, version, space") { row in
            try expect(
                StoreLimits.confirmedSlots.contains(row.integer(0)) && row.integer(1) >= 0
                    && SpaceID(rawValue: row.text(2)) != nil,
                "sync_confirmed has version \(row.integer(1)) of the space '\(row.text(2))' in slot \(row.integer(0))")
        }
    }

    // MARK: Recording

    private func checkRecording() throws {
        try each("sync_recording_turn") { _ in }
        try expectNone(
            """
            SELECT segment FROM sync_recording_segment AS ring WHERE turns <>
                (SELECT count(*) FROM sync_recording_turn AS turn WHERE turn.segment = ring.segment)
            UNION ALL SELECT segment FROM sync_recording_turn
                WHERE segment NOT IN (SELECT segment FROM sync_recording_segment) LIMIT 1
            """
        ) { "segment \($0) of the recording does not have the turns that it counts" }
    }

    // MARK: Records

    /// Checks the rows of a fixed table of records: their collections, ids, and spaces.
    ///
    /// - Parameters:
    ///   - columns: the columns that `body` reads, after the collection and the id.
    private func checkRecords(
        of table: String, _ columns: String? = nil, _ body: (Statement) throws -> Void
    ) throws {
        try each(table, "collection, id" + (columns.map { ", \($0)" } ?? "")) { row in
            try expect(
                CollectionName(rawValue: row.text(0)) != nil, "\(table) names a collection '\(row.text(0))'")
            _ = try row.recordID(1)
            try body(row)
        }
    }

    /// Checks a fixed table of records with their values.
    private func checkValues(of table: String) throws {
        try checkRecords(of: table, "fields") { row in
            let id = try row.recordID(1)
            _ = try StoredForm.patch(from: row.bytes(2), of: "\(row.text(0)) \(id) in \(table)")
        }
    }

    private func checkVersions(
        _ row: Statement, at columns: (version: Int32, fields: Int32), of table: RecordTable, _ place: String
    ) throws {
        let version = Version(row.integer(columns.version))
        try expect(version >= .zero, "\(place) has the version \(version)")
        guard !row.isNull(columns.fields) else { return }
        let versions = row.withBytes(columns.fields) {
            FieldVersions.decode($0, order: table.columnOrder, version: version)
        }
        try expect(versions?.allSatisfy { $0 >= .zero } == true, "\(place) has versions that cannot be read")
    }

    private func checkRecords(of table: RecordTable) throws {
        let spaces = Set(try SpaceRow.all(connection).map(\.key))
        // Any value of the other types can be encoded.
        let isEncoded = table.model.fields.contains { $0.type == .json || $0.type == .real }
        try each(table.name, table.columns) { row in
            let stored = try table.row(row)
            let name = "\(table.name) \(stored.record.id)"
            try expect(spaces.contains(stored.space), "\(name) is in a space that does not exist")
            try checkVersions(row, at: (3, 5), of: table, name)
            // An edit of the record stores these values as JSON, in its base.
            if isEncoded { _ = try StoredForm.bytes(of: stored.record.patch(schema: table.model)) }
        }
    }

    private func table(_ collection: String, of place: String) throws(StoreError) -> RecordTable {
        guard let table = tables.first(where: { $0.name == collection }) else {
            throw StoreError(
                .corrupt, "\(file) is damaged: \(place) names the collection \(collection), which has no table")
        }
        return table
    }
}
