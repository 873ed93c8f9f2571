import SyncCore
import SyncModel

// What only a lost history of the server had: offered in the journal, so that it does not just disappear (I15).
//
// A server that was restored from a backup does not have what was confirmed after the backup. Whether a record that it does
// not show was lost or has been deleted since, a device cannot know: to bring it back by itself could undo a deletion.
extension WriteTransaction {
    /// Remembers which version each record had, before the versions of a lost history are forgotten.
    func rememberFormerVersions() throws(StoreFailure) {
        for table in tables {
            let statement = try connection.statement(
                composed:
                    """
                    INSERT OR REPLACE INTO sync_former (collection, id, version)
                    SELECT ?1, id, version FROM \(table.quoted) WHERE version > 0
                    UNION ALL
                    SELECT collection, id, version FROM sync_base
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

    /// The values that a record had here, where the present history has older ones; nil when it has lost nothing of it.
    ///
    /// Up to the backup both histories are one. A record that had a later version here than it has there was changed after
    /// the backup, and that change is lost. The other way round nobody can tell.
    func edits(lostFrom record: Record, at place: RecordPlace, isPending: Bool) throws(StoreFailure) -> Mutation? {
        guard let former = try takeFormerVersion(of: place), former > record.version,
            let old = isPending ? try base(place).record : try row(place)?.record, old.version == .zero
        else { return nil }
        let model = tables[place.table].model
        var edits: [FieldEdit] = []
        for (position, field) in model.fields.enumerated() where old.values[position] != record.values[position] {
            edits.append(
                FieldEdit(
                    field: field.name, value: old.values[position], before: record.values[position],
                    seen: record.version(ofFieldAt: position)))
        }
        guard !edits.isEmpty else { return nil }
        return Mutation(collection: model.collection, record: place.id, time: .zero, intent: .update(edits))
    }

    /// What would make a record anew that only a lost history has shown; nil when the user has deleted it here.
    func creation(ofLost place: RecordPlace) throws(StoreFailure) -> Mutation? {
        _ = try takeFormerVersion(of: place)
        guard let row = try row(place)?.record else { return nil }
        let model = tables[place.table].model
        // The edits that wait for the server have entries of their own.
        let record = try base(place).record ?? row
        var patch = Patch()
        for (field, value) in zip(model.fields, record.values) where !value.isNull { patch.set(field.name, to: value) }
        return Mutation(collection: model.collection, record: place.id, time: .zero, intent: .create(patch))
    }

    private func takeFormerVersion(of place: RecordPlace) throws(StoreFailure) -> Version? {
        let statement = try connection.statement(
            "DELETE FROM sync_former WHERE collection = ?1 AND id = ?2 RETURNING version")
        statement.bind(1, tables[place.table].name)
        statement.bind(2, place.id)
        var version: Version?
        while try statement.step() { version = Version(statement.integer(0)) }
        return version
    }

    /// Writes them into the journal, each entry small enough to be sent again as one transaction.
    func note(forgotten mutations: [Mutation], in space: SpaceID, now: WallTime) throws(StoreFailure) {
        var entry: [Mutation] = []
        var bytes = 0
        for mutation in Self.inOrderOfReferences(mutations) {
            let size = mutation.byteCount
            if entry.count == ModelLimits.mutationsPerTransaction || bytes + size > ModelLimits.transactionBytes {
                try note(forgotten: Transaction(space: space, mutations: entry), now: now)
                entry = []
                bytes = 0
            }
            entry.append(mutation)
            bytes += size
        }
        if !entry.isEmpty { try note(forgotten: Transaction(space: space, mutations: entry), now: now) }
    }

    /// What a record refers to comes before it, so that entries can be sent again in their order.
    private static func inOrderOfReferences(_ mutations: [Mutation]) -> [Mutation] {
        let places = Dictionary(mutations.indices.map { (mutations[$0].record, $0) }) { first, _ in first }
        var ordered: [Mutation] = []
        var isReached = Array(repeating: false, count: mutations.count)
        for start in mutations.indices where !isReached[start] {
            // Depth first, with a stack of its own: a chain of references may be as long as there are records.
            isReached[start] = true
            var path = [(index: start, open: mutations[start].references)]
            while let (index, open) = path.last {
                guard let reference = open.last else {
                    ordered.append(mutations[index])
                    path.removeLast()
                    continue
                }
                path[path.count - 1].open.removeLast()
                if let next = places[reference], !isReached[next] {
                    isReached[next] = true
                    path.append((next, mutations[next].references))
                }
            }
        }
        return ordered
    }
}
