import SQLiteDatabase
import SyncCore
import SyncModel

// Writes the changes of a journal entry again, over the current records.
extension WriteTransaction {
    func restore(
        journal number: Int64, leaving left: LeftChanges, now: WallTime,
        newID: @escaping @Sendable () -> RecordID
    ) throws -> [OutboxSequence] {
        let entry = try journalEntry(number)
        do {
            return try restore(entry, leaving: left, now: now, newID: newID)
        } catch let error as StoreError {
            guard error.code == .missingRecord || error.code == .danglingReference else { throw error }
            if let (record, first, state) = try recordAndEntryToRestore(before: entry) {
                // A client restores only active entries.
                let way =
                    state == .active
                    ? ""
                    : " with `syncctl journal restore \(first)`, because it was dismissed, or correct entry \(number) to do without the record"
                throw StoreError(
                    error.code,
                    "entry \(number) needs \(record), which entry \(first) creates: restore entry \(first) first\(way)")
            }
            let space = try JournalReading.space(of: number, connection)
            let row = try SpaceRow.find(space, connection)
            guard row?.phase != .complete else { throw error }
            let advice = row?.cursor == nil ? "follow the space, sync," : "sync,"
            throw StoreError(
                error.code,
                "entry \(number) needs records of the space \(space), which this device has not downloaded: \(advice) and then restore the entry"
            )
        }
    }

    private func restore(
        _ entry: JournalEntry, leaving left: LeftChanges, now: WallTime, newID: @escaping @Sendable () -> RecordID
    ) throws -> [OutboxSequence] {
        // Many changes can name one record.
        var offered: [RecordAddress: Bool] = [:]
        var restored: [RecordAddress: Patch?] = [:]
        let space = try JournalReading.space(of: entry.number, connection)
        let search = CreationSearch(in: space)
        var leftChanges = left.changes
        if case .lost(let changes) = entry.event {
            leftChanges = try left.changes(of: changes, catalog) { address in
                try currentRecord(address, in: changes.space)
            }
            // If nothing is restored, the entry stays as it is, and no new one is made.
            guard !changes.mutations.separating(leftChanges).others.isEmpty else { return [] }
        }
        let plan = try RestorePlan(
            of: entry, leaving: leftChanges, in: space,
            RestorePlan.Records(
                catalog, newID: newID, replacement: { try self.replacement(of: $0, in: space) },
                space: { try self.table($0.collection).space(of: $0.id, on: self.connection) },
                isOffered: { record in
                    if let known = offered[record] { return known }
                    let isOffered = try self.entry(creating: record, in: .active, besides: entry.number, search) != nil
                    offered[record] = isOffered
                    return isOffered
                },
                restoredCreation: { record in
                    if let known = restored[record] { return known }
                    let patch = try self.creation(of: record, in: .restored, besides: entry.number, search)?.patch
                    restored.updateValue(patch, forKey: record)
                    return patch
                }))
        if try lacksRecords(of: plan.space) { try requireDownloaded(plan, of: entry) }
        var sequences: [OutboxSequence] = []
        let again = entry.conflictFields
        func write(_ edits: [RecordEdit]) throws {
            let sequence = try writeEdits(edits, in: plan.space, now: now, again: again)
            try forgetDroppedReferences(in: edits)
            // The edits may change nothing, or join the previous entry.
            if let sequence, sequences.last != sequence { sequences.append(sequence) }
        }
        func carryOut(_ writing: inout RestoreWriting) throws {
            while let edits = writing.next() {
                do {
                    try write(edits)
                } catch let error as StoreError {
                    try writing.refused(error)
                }
            }
        }
        var writing = RestoreWriting(plan)
        try carryOut(&writing)
        let rest = try writing.rest()
        let isHere = { (made: RestorePlan.Replacement) in
            try self.table(made.collection).space(of: made.replacement, on: self.connection) != nil
        }
        let regained = try referencesThatWereDropped(to: plan.creations.filter(isHere), in: plan.space)
        if !regained.isEmpty {
            var writing = RestoreWriting(regained, catalog)
            try carryOut(&writing)
        }
        if !rest.isEmpty {
            try note(
                lost: Transaction(space: plan.space, mutations: rest), keeping: entry.records?.mutations ?? [],
                own: try ownChanges(of: entry), now: now)
        }
        for made in try plan.replacements.filter(isHere) { try keep(made) }
        for reference in plan.droppedReferences { try keep(reference, in: space) }
        try setState(.restored, of: entry)
        return sequences
    }

    /// Returns a record, or the record that has replaced it; nil if there is neither.
    private func currentRecord(_ address: RecordAddress, in space: SpaceID) throws -> Record? {
        let table = try table(address.collection).position
        if let row = try row(RecordPlace(table: table, id: address.id)) { return row.record }
        guard let id = try replacement(of: address, in: space) else { return nil }
        return try row(RecordPlace(table: table, id: id))?.record
    }

    /// Whether the server may have records of a space that this device does not have, because it has unfollowed the
    /// space, or has lost its access, and has not downloaded all of it again.
    private func lacksRecords(of space: SpaceID) throws -> Bool {
        try meta.epoch != nil && SpaceRow.find(space, connection)?.phase != .complete
    }

    /// Throws if the plan treats a record as deleted that this device does not have.
    private func requireDownloaded(_ plan: RestorePlan, of entry: JournalEntry) throws {
        if let dropped = plan.droppedReferences.first {
            throw StoreError(
                .danglingReference,
                "\(dropped.record): \(dropped.field) refers to \(dropped.target), which is not on this device")
        }
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction):
            for mutation in transaction.mutations {
                guard case .delete = mutation.intent,
                    try table(mutation.collection).space(of: mutation.record, on: connection) == nil
                else { continue }
                throw StoreError(.missingRecord, "\(mutation.address) is not on this device")
            }
        case .merged, .overwritten, .noticesRemoved, .lost: break
        }
    }

    /// Returns edits that set the references that earlier restores dropped, because these target records were missing
    /// then, and forgets the references.
    private func referencesThatWereDropped(
        to created: [RestorePlan.Replacement], in space: SpaceID
    ) throws -> [RecordEdit] {
        var patches: [RecordAddress: Patch] = [:]
        var order: [RecordAddress] = []
        for target in created {
            for dropped in try droppedReferences(to: target.deleted) {
                let (record, field) = (dropped.record, dropped.field)
                let id = try replacement(of: record, in: space) ?? record.id
                guard let position = tables.firstIndex(where: { $0.model.collection == record.collection }),
                    case let model = tables[position].model, let index = model.position(of: field),
                    // Records of other collections and spaces can have the same id.
                    model.fields[index].target == target.collection,
                    let row = try row(RecordPlace(table: position, id: id)), try row.space == key(of: space)
                else { continue }
                try forgetDroppedReference(from: field, of: record)
                // Somebody may have set another reference since.
                guard row.record.values[index] == dropped.held else { continue }
                let address = RecordAddress(record.collection, id)
                if patches[address] == nil { order.append(address) }
                patches[address, default: Patch()].set(field, to: .reference(target.replacement))
            }
        }
        return order.compactMap { address in
            patches[address].map { .update(address.collection, address.id, $0) }
        }
    }

    // MARK: References that were dropped

    private typealias StoredReference = (record: RecordAddress, field: FieldName, held: FieldValue)

    private func droppedReferences(to target: RecordID) throws -> [StoredReference] {
        let find = try connection.statement(
            "SELECT collection, id, field, held FROM sync_dropped_reference WHERE target = ?1")
        find.bind(1, target)
        var references: [StoredReference] = []
        while try find.step() {
            guard let collection = CollectionName(rawValue: find.text(0)), let field = FieldName(rawValue: find.text(2))
            else { continue }
            let held: FieldValue = find.isNull(3) ? .null : .reference(try find.recordID(3))
            references.append((RecordAddress(collection, try find.recordID(1)), field, held))
        }
        return references
    }

    /// Forgets the references that earlier restores dropped from the fields that edits set. An edit counts even if the
    /// field has its value already.
    private func forgetDroppedReferences(in edits: [RecordEdit]) throws {
        for edit in edits {
            for (field, _) in edit.patch {
                try forgetDroppedReference(from: field, of: RecordAddress(edit.collection, edit.record))
            }
        }
    }

    private func forgetDroppedReference(from field: FieldName, of record: RecordAddress) throws {
        let forget = try connection.statement(
            "DELETE FROM sync_dropped_reference WHERE collection = ?1 AND id = ?2 AND field = ?3")
        forget.bind(1, record.collection.rawValue)
        forget.bind(2, record.id)
        forget.bind(3, field.rawValue)
        try forget.run()
    }

    /// Keeps a reference that a restore left out, with the one that its field has instead.
    private func keep(_ reference: DroppedReference, in space: SpaceID) throws {
        let record = reference.record
        guard let table = tables.first(where: { $0.model.collection == record.collection }),
            let row = try row(RecordPlace(table: table.position, id: record.id)),
            let index = table.model.position(of: reference.field)
        else { return }
        let insert = try connection.statement(
            "INSERT OR REPLACE INTO sync_dropped_reference (target, collection, id, field, held) VALUES (?1, ?2, ?3, ?4, ?5)"
        )
        // If an earlier restore gave the target another id, an entry creates it under that id.
        insert.bind(1, try replacement(of: reference.target, in: space) ?? reference.target.id)
        insert.bind(2, record.collection.rawValue)
        insert.bind(3, record.id)
        insert.bind(4, reference.field.rawValue)
        if case .reference(let held) = row.record.values[index] {
            insert.bind(5, held)
        } else {
            insert.bind(5, nil as String?)
        }
        try insert.run()
    }

    // MARK: Other entries and records

    /// Returns a record that an entry needs and that is not here, with the entry that creates it; nil when no other
    /// entry creates one.
    private func recordAndEntryToRestore(
        before entry: JournalEntry
    ) throws -> (record: String, entry: Int64, state: JournalEntry.State)? {
        var needed: [RecordAddress] = []
        func needTargets(of values: Patch, in collection: CollectionName) {
            for (name, value) in values {
                guard case .reference(let id) = value, let target = catalog[collection]?.field(named: name)?.target
                else { continue }
                needed.append(RecordAddress(target, id))
            }
        }
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction), .lost(let transaction):
            for mutation in transaction.mutations {
                needed.append(mutation.address)
                needTargets(of: mutation.patch, in: mutation.collection)
            }
            // A record that is created again needs its other values, too.
            for mutation in entry.records?.mutations ?? [] { needTargets(of: mutation.patch, in: mutation.collection) }
            let created = Set(transaction.createdRecords)
            needed.removeAll { created.contains($0.id) }
        case .merged(let conflicts), .overwritten(let conflicts, _):
            for conflict in conflicts {
                needed.append(RecordAddress(conflict.collection, conflict.record))
                needTargets(of: [conflict.field: conflict.loser.value], in: conflict.collection)
            }
        case .noticesRemoved: break
        }
        var searches = 0
        let space = try JournalReading.space(of: entry.number, connection)
        let search = CreationSearch(in: space)
        for record in needed where searches < StoreLimits.searchesForCreates {
            guard let table = tables.first(where: { $0.model.collection == record.collection }),
                try table.space(of: record.id, on: connection) == nil
            else { continue }
            searches += 1
            for state in [.active, .dismissed] as [JournalEntry.State] {
                guard let first = try self.entry(creating: record, in: state, besides: entry.number, search) else {
                    continue
                }
                return (first.record.description, first.entry, state)
            }
        }
        return nil
    }

    /// Returns an entry in this state that creates a record, under the record's id or under the one that an earlier
    /// restore gave it; nil when there is none.
    ///
    /// - Returns: The entry, and the record as the entry names it.
    private func entry(
        creating record: RecordAddress, in state: JournalEntry.State, besides number: Int64, _ search: CreationSearch
    ) throws -> (entry: Int64, record: RecordAddress)? {
        var names = [record]
        if let id = try replacement(of: record, in: search.space) {
            names.append(RecordAddress(record.collection, id))
        }
        for name in names {
            if let found = try creation(of: name, in: state, besides: number, search) {
                return (found.entry, name)
            }
        }
        return nil
    }

    /// Returns an entry in this state that creates a record, with its values: the newest one that has been restored, or
    /// the oldest one that has not; nil when there is none.
    private func creation(
        of record: RecordAddress, in state: JournalEntry.State, besides number: Int64, _ search: CreationSearch
    ) throws -> (entry: Int64, patch: Patch)? {
        if let ids = try search.createdIDs(connection), !ids.contains(record.id) { return nil }
        let statement = try connection.statement(
            """
            SELECT number, payload FROM sync_journal
            WHERE number <> ?1 AND state = ?3 AND event IN ('rejected', 'cancelled', 'lost')
                AND instr(payload, ?2) > 0 ORDER BY iif(?3 = 'restored', -number, number)
            """)
        statement.bind(1, number)
        statement.bind(2, record.id.description)
        statement.bind(3, state.rawValue)
        defer { statement.reset() }
        while try statement.step() {
            let found = statement.integer(0)
            let transaction = try StoredForm.transaction(from: statement.bytes(1), of: "journal entry \(found)")
            // Another space may have used the same id in another history of the server.
            guard transaction.space == search.space else { continue }
            for mutation in transaction.mutations where mutation.address == record {
                if case .create(let patch) = mutation.intent { return (found, patch) }
            }
        }
        return nil
    }

    /// Returns the newest record of a space that was created in place of a deleted one or, if all are gone, the newest
    /// of any space; nil when there is none.
    ///
    /// After a restore of the server, two spaces may have replaced records with one id.
    private func replacement(of record: RecordAddress, in space: SpaceID) throws -> RecordID? {
        let chain = try Replacements.chain(of: record, connection)
        let table = try table(record.collection)
        return try chain.first { try table.space(of: $0, on: connection) == space } ?? chain.first
    }

    private func keep(_ made: RestorePlan.Replacement) throws {
        try Replacements.add(made.replacement, for: RecordAddress(made.collection, made.deleted), connection)
    }
}

extension JournalEntry {
    /// The fields whose values gave way, which a restore writes even if the record shows these values.
    ///
    /// The record may show them only because the kept values have not arrived: the response to a push, and notices, can
    /// come before the page that has the commit. Without a new edit, that page would replace the values.
    fileprivate var conflictFields: Set<LostChange> {
        switch event {
        case .merged(let conflicts), .overwritten(let conflicts, _):
            Set(conflicts.map { LostChange(RecordAddress($0.collection, $0.record), $0.field) })
        case .rejected, .cancelled, .noticesRemoved, .lost: []
        }
    }
}

/// Knows the ids of all records that entries of the journal create, once a restore has searched for several.
///
/// A search reads the payloads of the whole journal. For one record, that takes less time than decoding them; for the
/// records of a large entry, it would hold the write lock for as many reads.
private final class CreationSearch {
    /// The space of the records.
    let space: SpaceID
    private var searches = 0
    private var ids: Set<RecordID>?

    /// The number of searches after which the payloads are decoded once.
    private static let fewSearches = 4

    init(in space: SpaceID) {
        self.space = space
    }

    /// Returns the ids of all records that entries create; nil while a search is cheaper.
    func createdIDs(_ connection: Connection) throws -> Set<RecordID>? {
        searches += 1
        if let ids { return ids }
        guard searches > Self.fewSearches else { return nil }
        var found: Set<RecordID> = []
        let statement = try connection.statement(
            "SELECT number, payload FROM sync_journal WHERE event IN ('rejected', 'cancelled', 'lost')")
        defer { statement.reset() }
        while try statement.step() {
            let place = "journal entry \(statement.integer(0))"
            found.formUnion(try StoredForm.transaction(from: statement.bytes(1), of: place).createdRecords)
        }
        ids = found
        return found
    }
}
