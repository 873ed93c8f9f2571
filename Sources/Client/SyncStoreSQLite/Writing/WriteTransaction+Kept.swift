import SQLiteDatabase
import SyncCore
import SyncModel

/// Records that restoring a journal entry may have to create again, each once.
///
/// All values are of the entry's space. After a restore of the server, an id may be in use in another space, whose
/// values the members of the entry's space may not read.
struct KeptRecords {
    /// The key of the entry's space; nil when the device does not follow the space, and so has no records of it.
    let space: Int64?
    private(set) var creates: [Mutation] = []
    private var known: Set<RecordAddress>
    private var bytes = 0

    /// - Parameter others: The records that the entry itself describes.
    init(in space: Int64?, except others: Set<RecordAddress> = []) {
        self.space = space
        known = others
    }

    /// Whether the entry has room for more records.
    var hasRoom: Bool { creates.count < StoreLimits.keptRecords && bytes < StoreLimits.keptRecordBytes }

    func holds(_ address: RecordAddress) -> Bool { known.contains(address) }

    /// Adds a record with its values, unless it is already here.
    mutating func add(_ address: RecordAddress, _ values: Patch) {
        guard !holds(address) else { return }
        add(
            Mutation(
                collection: address.collection, record: address.id, time: .zero,
                intent: .create(values.withoutNulls)))
    }

    /// Adds a record, unless it is already here.
    mutating func add(_ create: Mutation) {
        guard known.insert(create.address).inserted else { return }
        creates.append(create)
        bytes += create.byteCount
    }

    /// Returns the stored form; nil when there are no records.
    func stored(in space: SpaceID) throws -> [UInt8]? {
        guard !creates.isEmpty else { return nil }
        return try StoredForm.bytes(of: Transaction(space: space, mutations: creates))
    }
}

// Keeps the last values of records in the journal, so that a restore can create deleted records again.
extension WriteTransaction {
    // MARK: For new entries

    /// Returns the records that the transaction of an entry updates or refers to, and those that they require in turn.
    ///
    /// The records have their current values, or those from before a server deleted them.
    func recordsNeeded(by transaction: Transaction) throws -> KeptRecords {
        let creates = transaction.mutations.filter { if case .create = $0.intent { true } else { false } }
        var kept = KeptRecords(
            in: try SpaceRow.find(transaction.space, connection)?.key, except: Set(creates.map(\.address)))
        var wholes: [(CollectionName, Patch)] = []
        for mutation in transaction.mutations {
            guard case .update = mutation.intent, mayKeep(kept),
                let place = place(mutation.collection, mutation.record),
                var whole = try values(of: place, in: kept.space)
            else { continue }
            for (field, value) in mutation.patch { whole.set(field, to: value) }
            kept.add(mutation.address, whole)
            wholes.append((mutation.collection, whole))
        }
        for (collection, whole) in wholes { try keepTargets(of: whole, in: collection, onlyRequired: true, &kept) }
        for mutation in transaction.mutations {
            try keepTargets(of: mutation.patch, in: mutation.collection, onlyRequired: false, &kept)
        }
        return kept
    }

    /// Returns the records of conflicts that are no longer on this device, and the records to which the losing values
    /// refer.
    ///
    /// `keepInJournal(_:of:)` keeps the other records of the conflicts when they are deleted.
    func recordsNeeded(by conflicts: [FieldConflict], in space: SpaceID) throws -> KeptRecords {
        var kept = KeptRecords(in: try SpaceRow.find(space, connection)?.key)
        for conflict in conflicts {
            if let place = place(conflict.collection, conflict.record), try row(place) == nil {
                try keep(place, &kept)
            }
            try keepTargets(
                of: [conflict.field: conflict.loser.value], in: conflict.collection, onlyRequired: false, &kept)
        }
        return kept
    }

    /// Whether an entry may keep one more record: it has room, and the unhandled entries of the journal are below their
    /// limit.
    private func mayKeep(_ kept: KeptRecords) -> Bool {
        kept.hasRoom && meta.journal.activeBytes < limits.activeJournalBytes
    }

    /// Keeps a record, and the records that it requires.
    private func keep(_ place: RecordPlace, _ kept: inout KeptRecords) throws {
        guard let values = try values(of: place, in: kept.space) else { return }
        let collection = tables[place.table].model.collection
        kept.add(RecordAddress(collection, place.id), values)
        try keepTargets(of: values, in: collection, onlyRequired: true, &kept)
    }

    /// Keeps the records that values refer to, and the records that those require in turn.
    ///
    /// Nothing is kept once the unhandled entries of the journal have reached their limit.
    private func keepTargets(
        of values: Patch, in collection: CollectionName, onlyRequired: Bool, _ kept: inout KeptRecords
    ) throws {
        guard meta.journal.activeBytes < limits.activeJournalBytes else { return }
        var open = [(collection, values, onlyRequired)]
        while let (collection, values, onlyRequired) = open.popLast() {
            for (name, value) in values {
                guard kept.hasRoom, case .reference(let id) = value,
                    let field = catalog[collection]?.field(named: name), let target = field.target,
                    field.isRequired || !onlyRequired, case let address = RecordAddress(target, id),
                    !kept.holds(address), let place = place(target, id),
                    let values = try self.values(of: place, in: kept.space)
                else { continue }
                kept.add(address, values)
                open.append((target, values, true))
            }
        }
    }

    /// Returns the values that a record has in a space, or had there before it was deleted; nil when nothing is known
    /// of it.
    private func values(of place: RecordPlace, in space: Int64?) throws -> Patch? {
        guard let space else { return nil }
        let table = tables[place.table]
        if let row = try row(place) {
            if row.space == space { return row.record.patch(schema: table.model) }
        } else if case (_, let home) = try shownBase(place), home == nil || home == space,
            let base = try lastValues(of: place)
        {
            return base
        }
        let statement = try connection.statement(
            "SELECT fields FROM sync_deleted WHERE collection = ?1 AND id = ?2 AND space = ?3")
        statement.bind(1, table.name)
        statement.bind(2, place.id)
        statement.bind(3, space)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return try StoredForm.patch(from: statement.bytes(0), of: "the deleted \(table.name) \(place.id)")
    }

    private func place(_ collection: CollectionName, _ id: RecordID) -> RecordPlace? {
        tables.first { $0.model.collection == collection }.map { RecordPlace(table: $0.position, id: id) }
    }

    // MARK: Before a deletion

    /// Keeps the values of records that the server has deleted, before they are deleted here.
    func keepValues(ofDeleted places: [RecordPlace], in space: SpaceRow) throws {
        guard !places.isEmpty else { return }
        try keepInJournal(places, of: space.space)
        guard try anyPending() else { return }
        let referred = try recordsReferredToByPending()
        let insert = try connection.statement(
            "INSERT OR REPLACE INTO sync_deleted (collection, id, space, fields) VALUES (?1, ?2, ?3, ?4)")
        for place in places where referred.contains(place) {
            var kept = KeptRecords(in: space.key)
            try keep(place, &kept)
            for create in kept.creates {
                insert.bind(1, create.collection.rawValue)
                insert.bind(2, create.record)
                insert.bind(3, space.key)
                insert.bind(4, text: try StoredForm.bytes(of: create.patch))
                try insert.run()
            }
        }
    }

    /// Adds the values of records that are about to be deleted to the merged and overwritten entries about them.
    func keepInJournal(_ places: [RecordPlace], of space: SpaceID) throws {
        guard meta.journal.entries > 0 else { return }
        var entries: [Int64: [RecordPlace]] = [:]
        let named = try connection.statement(
            """
            SELECT DISTINCT number FROM sync_conflict JOIN sync_journal ON number = journal
            WHERE collection = ?1 AND id = ?2 AND state <> 'restored' AND coalesce(space, ?3) = ?3
            """)
        for place in places {
            named.bind(1, tables[place.table].name)
            named.bind(2, place.id)
            named.bind(3, space.rawValue)
            while try named.step() { entries[named.integer(0), default: []].append(place) }
        }
        for (number, places) in entries.sorted(by: { $0.key < $1.key }) {
            guard let entry = try JournalReading.entry(number, connection) else { continue }
            try keep(places, in: entry, of: space)
        }
        if !entries.isEmpty { try deleteHandledEntries() }
    }

    private func keep(_ places: [RecordPlace], in entry: JournalEntry, of space: SpaceID) throws {
        let isActive = entry.state == .active
        guard !isActive || meta.journal.activeBytes < limits.activeJournalBytes else { return }
        var kept = KeptRecords(in: try SpaceRow.find(space, connection)?.key)
        var whole: [Mutation] = []
        if case .overwritten(_, let deleted?) = entry.event { whole = deleted.mutations }
        let known = entry.records?.mutations ?? []
        for place in places {
            if let create = whole.first(where: { self.place($0.collection, $0.record) == place }) {
                // The entry already holds the record itself.
                try keepTargets(of: create.patch, in: create.collection, onlyRequired: true, &kept)
            } else if try row(place) != nil || !known.contains(where: { self.place($0.collection, $0.record) == place })
            {
                // Otherwise, the user has deleted the record before, and the values that the entry kept then are newer
                // than the base.
                try keep(place, &kept)
            }
        }
        for create in known { kept.add(create) }
        guard let records = try kept.stored(in: space) else { return }
        let size = try connection.statement(
            "SELECT coalesce(length(CAST(records AS BLOB)), 0) FROM sync_journal WHERE number = ?1")
        size.bind(1, entry.number)
        var growth = Int64(records.count)
        while try size.step() { growth -= size.integer(0) }
        let update = try connection.statement(
            "UPDATE sync_journal SET records = ?2, bytes = bytes + ?3 WHERE number = ?1")
        update.bind(1, entry.number)
        update.bind(2, text: records)
        update.bind(3, growth)
        try update.run()
        meta.journal.bytes += growth
        if isActive { meta.journal.activeBytes += growth }
    }

    /// Returns the records that pending changes set references to, and those that records with pending changes refer
    /// to.
    private func recordsReferredToByPending() throws -> Set<RecordPlace> {
        if let referredToByPending { return referredToByPending }
        var referred: Set<RecordPlace> = []
        for table in tables {
            for field in table.model.fields {
                guard let target = field.target, let other = tables.first(where: { $0.model.collection == target })
                else { continue }
                let column = RecordTable.quote(field.name.rawValue)
                // The order of the join is fixed, because there are fewer pending changes than records.
                let statement = try connection.statement(
                    composed:
                        """
                        SELECT live.\(column) FROM sync_pending CROSS JOIN \(table.quoted) AS live
                        WHERE sync_pending.collection = ?1 AND sync_pending.link = 'changes' AND live.id = sync_pending.id
                            AND live.\(column) IS NOT NULL
                        """)
                statement.bind(1, table.name)
                referred.formUnion(try self.places(in: other, from: statement))
            }
        }
        let entries = try connection.statement("SELECT sequence FROM sync_outbox ORDER BY sequence")
        var sequences: [Int64] = []
        while try entries.step() { sequences.append(entries.integer(0)) }
        // A reference that a later edit has replaced is in no record, so the transactions are read, too.
        for sequence in sequences { referred.formUnion(try referredPlaces(of: try transaction(at: sequence))) }
        referredToByPending = referred
        return referred
    }
}
