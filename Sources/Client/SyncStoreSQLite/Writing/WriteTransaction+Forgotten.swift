import SyncCore
import SyncModel

// Records that only a lost history of the server had: offered in the journal, so that they do not just disappear (I15).
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
    ///
    /// - Parameters:
    ///   - record: as the present history shows it first.
    ///   - space: the key of the space in which it does.
    func edits(
        lostFrom record: Record, at place: RecordPlace, in space: Int64, isPending: Bool
    ) throws(StoreFailure) -> Mutation? {
        let model = tables[place.table].model
        guard let former = try takeFormerVersions(of: place), let old = try shown(place, isPending: isPending),
            old.record.version == .zero
        else { return nil }
        // Made again in another space, it has lost all: versions of two spaces say nothing about each other.
        let isElsewhere = old.space != space
        let edits = old.record.edits(
            lostBy: record, former: isElsewhere ? former.map { _ in Version(.max) } : former, schema: model
        ).filter { !isElsewhere || !$0.value.isNull }
        guard !edits.isEmpty else { return nil }
        return Mutation(collection: model.collection, record: place.id, time: .zero, intent: .update(edits))
    }

    /// A record as the server has shown it, and the key of its space; nil when it has not.
    private func shown(
        _ place: RecordPlace, isPending: Bool
    ) throws(StoreFailure) -> (record: Record, space: Int64?)? {
        guard isPending else { return try row(place).map { ($0.record, $0.space) } }
        let (base, space) = try storedBase(place)
        return base.record.map { ($0, space) }
    }

    /// Offers records that only a lost history has shown, and forgets their former versions.
    func offer(lost places: [RecordPlace], in space: SpaceID, now: WallTime) throws(StoreFailure) {
        let positions = Dictionary(places.indices.map { (places[$0].id, $0) }) { first, _ in first }
        var references: [[Int]] = []
        references.reserveCapacity(places.count)
        for place in places {
            references.append(try creation(ofLost: place, in: space)?.references.compactMap { positions[$0] } ?? [])
        }
        var entry = TransactionPacker(space: space)
        // Records that belong together stay in one entry. Contents are read when their turn comes: they may be many.
        for group in ReferenceGroups.of(references) {
            var creations: [Mutation] = []
            for position in group {
                _ = try takeFormerVersions(of: places[position])
                if let creation = try creation(ofLost: places[position], in: space) { creations.append(creation) }
            }
            if let full = entry.add(creations) { try note(forgotten: full, now: now) }
        }
        if let rest = entry.take() { try note(forgotten: rest, now: now) }
    }

    /// Returns the create of a record that only a lost history has shown; nil when the user has deleted it here, or when its
    /// creation is still to be sent there.
    private func creation(ofLost place: RecordPlace, in space: SpaceID) throws(StoreFailure) -> Mutation? {
        guard let row = try row(place)?.record else { return nil }
        let model = tables[place.table].model
        for transaction in try pendingTransactions(of: place) where transaction.space == space {
            if transaction.createdRecords.contains(place.id) { return nil }
        }
        // The edits that wait for the server have entries of their own.
        let record = try base(place).record ?? row
        return Mutation(
            collection: model.collection, record: place.id, time: .zero,
            intent: .create(record.patch(schema: model)))
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
        var entry = TransactionPacker(space: space)
        for edit in edits {
            if let full = entry.add([edit]) { try note(forgotten: full, now: now) }
        }
        if let rest = entry.take() { try note(forgotten: rest, now: now) }
    }
}
