import SyncCore
import SyncModel

// What only a lost history of the server had: offered in the journal, so that it does not just disappear (I15).
//
// A server that was restored from a backup does not have what was confirmed after the backup. Whether a record that it does
// not show was lost or has been deleted since, a device cannot know: to bring it back by itself could undo a deletion.
extension WriteTransaction {
    /// Remembers which versions records and fields had, before those of a lost history are forgotten.
    func rememberFormerVersions() throws(StoreFailure) {
        for table in tables {
            let statement = try connection.statement(
                composed:
                    """
                    INSERT OR REPLACE INTO sync_former (collection, id, version, field_versions)
                    SELECT ?1, id, version, sync_fields FROM \(table.quoted) WHERE version > 0
                    UNION ALL
                    SELECT collection, id, version, field_versions FROM sync_base
                    WHERE collection = ?1 AND is_deleted = 0 AND version > 0
                    """)
            statement.bind(1, table.name)
            try statement.run()
        }
    }

    /// Whether there are records whose former versions the present history has not answered yet.
    func followsLostHistory() throws(StoreFailure) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM sync_former LIMIT 1")
        defer { statement.reset() }
        return try statement.step()
    }

    /// The edits of a record that the present history has lost; nil when there are none.
    func edits(lostFrom record: Record, at place: RecordPlace, isPending: Bool) throws(StoreFailure) -> Mutation? {
        let model = tables[place.table].model
        guard let former = try takeFormerVersions(of: place),
            let old = isPending ? try base(place).record : try row(place)?.record, old.version == .zero
        else { return nil }
        let edits = old.edits(lostBy: record, former: former, schema: model)
        guard !edits.isEmpty else { return nil }
        return Mutation(collection: model.collection, record: place.id, time: .zero, intent: .update(edits))
    }

    /// Offers records that only a lost history has shown, and forgets their former versions.
    func offer(lost places: [RecordPlace], in space: SpaceID, now: WallTime) throws(StoreFailure) {
        let positions = Dictionary(places.indices.map { (places[$0].id, $0) }) { first, _ in first }
        var references: [[Int]] = []
        references.reserveCapacity(places.count)
        for place in places {
            references.append(try creation(ofLost: place)?.references.compactMap { positions[$0] } ?? [])
        }
        var entry = ForgottenEntry(space: space)
        // What belongs together stays in one entry. Contents are read when their turn comes: they may be many.
        for group in ReferenceGroups.of(references) {
            var creations: [Mutation] = []
            for position in group {
                _ = try takeFormerVersions(of: places[position])
                if let creation = try creation(ofLost: places[position]) { creations.append(creation) }
            }
            if let full = entry.add(creations) { try note(forgotten: full, now: now) }
        }
        if let rest = entry.take() { try note(forgotten: rest, now: now) }
    }

    /// What would make a record anew that only a lost history has shown; nil when the user has deleted it here, or when its
    /// creation is still to be sent.
    private func creation(ofLost place: RecordPlace) throws(StoreFailure) -> Mutation? {
        guard let row = try row(place)?.record else { return nil }
        let model = tables[place.table].model
        for sequence in try sequences(linkedTo: place, onlyChanging: true) {
            if try entry(sequence)?.transaction.createdRecords.contains(place.id) == true { return nil }
        }
        // The edits that wait for the server have entries of their own.
        let record = try base(place).record ?? row
        return Mutation(
            collection: model.collection, record: place.id, time: .zero,
            intent: .create(record.creation(schema: model)))
    }

    /// The versions that the fields of a record had in the history before this one, once.
    private func takeFormerVersions(of place: RecordPlace) throws(StoreFailure) -> [Version]? {
        let table = tables[place.table]
        let statement = try connection.statement(
            "DELETE FROM sync_former WHERE collection = ?1 AND id = ?2 RETURNING version, field_versions")
        statement.bind(1, table.name)
        statement.bind(2, place.id)
        var versions: [Version]?
        while try statement.step() {
            let version = Version(statement.integer(0))
            guard !statement.isNull(1) else {
                versions = Array(repeating: version, count: table.model.fields.count)
                continue
            }
            versions = statement.withBytes(1) {
                FieldVersions.decode($0, count: table.model.fields.count, version: version)
            }
            guard versions != nil else {
                statement.reset()
                throw StoreFailure(.corrupt, "the former versions of \(table.name) \(place.id) cannot be read")
            }
        }
        return versions
    }

    /// Offers edits that a lost history had.
    func offer(lost edits: [Mutation], in space: SpaceID, now: WallTime) throws(StoreFailure) {
        var entry = ForgottenEntry(space: space)
        for edit in edits {
            if let full = entry.add([edit]) { try note(forgotten: full, now: now) }
        }
        if let rest = entry.take() { try note(forgotten: rest, now: now) }
    }
}

// Bringing it back, when a person asks for it.
extension WriteTransaction {
    /// Writes anew what a server had forgotten, in the smallest parts that can stand alone: nobody wrote these together, and
    /// what the server refuses of them must not take the others with it.
    ///
    /// What needs a record that is not here stays in the journal, in an entry of its own.
    func bringBack(_ forgotten: Transaction, now: WallTime) throws(StoreFailure) -> [OutboxSequence] {
        var sequences: [OutboxSequence] = []
        var left: [Mutation] = []
        for part in forgotten.groupsOfReferences {
            guard let edits = try edits(bringingBack: part) else {
                left += part
                continue
            }
            guard let sequence = try commit(edits, in: forgotten.space, now: now) else { continue }
            // Edits of one record may have joined.
            if sequences.last != sequence { sequences.append(sequence) }
        }
        guard left.count < forgotten.mutations.count else {
            throw StoreFailure(
                .danglingReference, "what was forgotten refers to records that are not here: bring those back first")
        }
        if !left.isEmpty { try note(forgotten: Transaction(space: forgotten.space, mutations: left), now: now) }
        return sequences
    }

    /// Without what cannot be any more: edits of records that are gone, and optional references to such. Nil when something
    /// needs a record that is not here.
    private func edits(bringingBack part: [Mutation]) throws(StoreFailure) -> [RecordEdit]? {
        let created = Set(part.map(\.record))
        var edits: [RecordEdit] = []
        for mutation in part {
            let table = try table(mutation.collection)
            var patch = mutation.patch
            for (name, value) in mutation.patch {
                guard case .reference(let id) = value, !created.contains(id),
                    let field = table.model.field(named: name),
                    let target = field.target,
                    try row(RecordPlace(table: try self.table(target).position, id: id)) == nil
                else { continue }
                if field.isRequired { return nil }
                patch.remove(name)
            }
            switch mutation.intent {
            case .create:
                let whole = Mutation(
                    collection: mutation.collection, record: mutation.record, time: mutation.time,
                    intent: .create(patch))
                if let edit = try edit(repeating: whole) { edits.append(edit) }
            case .update, .delete:
                let place = RecordPlace(table: table.position, id: mutation.record)
                if try row(place) != nil { edits.append(.update(mutation.collection, mutation.record, patch)) }
            }
        }
        return edits
    }
}

/// Collects what goes into one entry of the journal: as much as fits into one transaction.
private struct ForgottenEntry {
    let space: SpaceID
    private var mutations: [Mutation] = []
    private var bytes = 0

    init(space: SpaceID) {
        self.space = space
    }

    /// - Returns: the entry before, when it is full.
    mutating func add(_ group: [Mutation]) -> Transaction? {
        let size = group.reduce(0) { $0 + $1.byteCount }
        var full: Transaction?
        if mutations.count + group.count > ModelLimits.mutationsPerTransaction
            || bytes + size > ModelLimits.transactionBytes
        {
            full = take()
        }
        mutations += group
        bytes += size
        return full
    }

    mutating func take() -> Transaction? {
        guard !mutations.isEmpty else { return nil }
        defer {
            mutations = []
            bytes = 0
        }
        return Transaction(space: space, mutations: mutations)
    }
}
