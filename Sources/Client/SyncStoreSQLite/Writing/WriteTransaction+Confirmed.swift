import SQLiteDatabase
import SyncCore
import SyncModel

// Remembers the versions of this device's own commits, to tell its values from those of others when the server has lost
// its history (I15).
extension WriteTransaction {
    /// Remembers the version of a transaction that the server has applied and shown, if a base has a value of the
    /// transaction at that version.
    ///
    /// A transaction that changed nothing shares the version of another commit, perhaps of another device. At the
    /// limit, the newest version replaces the oldest (I19).
    func rememberConfirmed(_ entry: StoredEntry, in space: SpaceRow) throws {
        guard let version = entry.version, try shows(entry.transaction, at: version) else { return }
        try remember(version, of: entry, in: space)
    }

    /// Remembers the versions of transactions that the server has applied, and whose space is removed before it has
    /// shown them.
    ///
    /// Without a base, only the journal tells whether all values of a transaction lost. A transaction that changed
    /// nothing cannot be recognized: the values of the commit that it shares the version of are then offered, too.
    func rememberUnshown(_ entries: [StoredEntry], in space: SpaceRow) throws {
        for entry in entries {
            guard let version = entry.version else { continue }
            let fields = entry.transaction.mutations.reduce(0) { $0 + $1.patch.count }
            guard try lostCount(of: entry) < fields else { continue }
            try remember(version, of: entry, in: space)
        }
    }

    /// Returns the number of a transaction's values that lost to those of others, as the journal tells.
    private func lostCount(of entry: StoredEntry) throws -> Int {
        let conflicts = try connection.statement(
            """
            SELECT count(*) FROM sync_journal JOIN sync_conflict ON journal = number
            WHERE sequence = ?1 AND event = 'merged'
            """)
        conflicts.bind(1, entry.sequence)
        defer { conflicts.reset() }
        return try conflicts.step() ? Int(conflicts.integer(0)) : 0
    }

    private func remember(_ version: Version, of entry: StoredEntry, in space: SpaceRow) throws {
        let statement = try connection.statement(
            "INSERT OR REPLACE INTO sync_confirmed (slot, space, version) VALUES (?1, ?2, ?3)")
        statement.bind(1, entry.sequence % StoreLimits.confirmedVersions)
        statement.bind(2, space.space.rawValue)
        statement.bind(3, version.rawValue)
        try statement.run()
    }

    /// Returns whether the base of a record has a value of the transaction at the given version.
    ///
    /// The value matters, too: a transaction whose values all lost has the version of the commit that they lost to.
    private func shows(_ transaction: Transaction, at version: Version) throws -> Bool {
        for mutation in transaction.mutations {
            let table = try table(mutation.collection, orElse: .corrupt)
            let place = RecordPlace(table: table.position, id: mutation.record)
            guard let record = try base(place).record, record.version >= version else { continue }
            let isShown = mutation.patch.contains { field, value in
                guard let position = table.model.position(of: field) else { return false }
                return record.version(ofFieldAt: position) == version && record.values[position] == value
            }
            if isShown { return true }
        }
        return false
    }

    /// The former version of a field whose value counts as lost, whatever version the current history gives to the
    /// field.
    static let alwaysLost = Version(.max)

    /// The bit that marks, in `sync_former`, the version of a field that this device wrote. With it, the version is
    /// later than any that a history gives.
    static let ownBit: Int64 = 1 << 60

    /// Returns a version of `sync_former` without the mark of own fields; nil if its number is not known.
    static func unmarked(_ former: Version) -> Version? {
        former == alwaysLost ? nil : Version(former.rawValue & ~ownBit)
    }

    /// Whether a version of `sync_former` is marked as that of a field that this device wrote.
    static func isOwn(_ former: Version) -> Bool { former != alwaysLost && former.rawValue & ownBit != 0 }

    /// Returns former versions without the marks of fields that are probably empty because this device created the
    /// record without them. Nobody wrote such a field, so a later value of another device replaces nothing.
    static func withoutMarks(_ former: [Version], ofFieldsEmptySinceCreation record: Record) -> [Version] {
        let oldest = former.compactMap(unmarked).min()
        return former.enumerated().map { position, marked in
            guard record.values[position].isNull, let version = unmarked(marked), version == oldest else {
                return marked
            }
            return version
        }
    }

    /// In `sync_former`, marks the versions of the fields that this device wrote in the lost history, and forgets the
    /// versions of its own commits. The rows must still have the versions of the lost history.
    ///
    /// The next history gives the same versions to other commits.
    func markOwnFormerVersions() throws {
        let own = try OwnVersions(in: connection)
        if !own.isEmpty {
            for table in tables { try markOwnFormerVersions(of: table, own) }
        }
        try connection.execute("DELETE FROM sync_confirmed")
    }

    private func markOwnFormerVersions(of table: RecordTable, _ own: OwnVersions) throws {
        let rows = try connection.statement(
            composed:
                """
                SELECT version, sync_fields, id, sync_space FROM \(table.quoted)
                WHERE version > 0 AND (sync_fields IS NOT NULL
                    OR (sync_space, version) IN (\(OwnVersions.select)))
                UNION ALL
                SELECT version, field_versions, id, space FROM sync_base
                WHERE collection = ?1 AND is_deleted = 0 AND version > 0 AND space IS NOT NULL
                """)
        rows.bind(1, table.name)
        let mark = try connection.statement(
            "UPDATE sync_former SET version = ?3, field_versions = ?4 WHERE collection = ?1 AND id = ?2")
        try rows.forEachRow { row in
            guard let own = own[row.integer(3)] else { return }
            let id = try row.recordID(2)
            let versions = try fieldVersions(row, at: 0, in: table) { "the versions of \(table.name) \(id)" }
            let marked = versions.map { own.contains($0) ? Version($0.rawValue | Self.ownBit) : $0 }
            guard marked != versions else { return }
            mark.bind(1, table.name)
            mark.bind(2, id)
            mark.bind(3, row.integer(0))
            mark.bind(4, blob: FieldVersions.encode(marked, order: table.columnOrder))
            try mark.run()
        }
    }

    /// Remembers the versions of own fields again that the current history shows as the former one did: it has the same
    /// commits. Without them, a third history that lacks these commits would look as if others had written the fields.
    func rememberOwnVersions(
        _ former: [Version], of old: Record, shownAs new: Record, in space: Int64
    ) throws {
        var known: Set<Version> = []
        for (position, marked) in former.enumerated() {
            guard let version = Self.unmarked(marked), version != marked,
                new.version(ofFieldAt: position) == version, new.values[position] == old.values[position],
                known.insert(version).inserted
            else { continue }
            let statement = try connection.statement(
                """
                INSERT OR REPLACE INTO sync_confirmed (slot, space, version)
                SELECT ?1, name, ?3 FROM sync_space WHERE key = ?2
                """)
            // Below zero, because these versions have no sequence. Versions of several spaces are often equal, so each
            // space begins at another slot.
            let slot = (version.rawValue &+ space &* 1_009) % StoreLimits.confirmedVersions
            statement.bind(1, -1 - slot)
            statement.bind(2, space)
            statement.bind(3, version.rawValue)
            try statement.run()
        }
    }

    /// Reads the versions of a record's fields from two columns: the record's version, and the blob of `FieldVersions`,
    /// which is NULL when all fields have that version.
    func fieldVersions(
        _ statement: Statement, at column: Int32, in table: RecordTable, _ place: () -> String
    ) throws -> [Version] {
        let version = Version(statement.integer(column))
        guard !statement.isNull(column + 1) else {
            return Array(repeating: version, count: table.model.fields.count)
        }
        let versions = statement.withBytes(column + 1) {
            FieldVersions.decode($0, order: table.columnOrder, version: version)
        }
        guard let versions else {
            statement.reset()
            throw StoreError(.corrupt, "\(place()) cannot be read")
        }
        return versions
    }
}
