import SyncCore
import SyncModel

// Values of this device that gave way to others, as a page tells of them.
extension WriteTransaction {
    /// Puts the notices that are new into the journal, one entry for each commit.
    func note(_ notices: [ConflictNotice], in space: inout SpaceRow, now: WallTime) throws(StoreFailure) {
        guard let last = notices.last, last.number > space.notice else { return }
        let own = Set(try clients())
        var rest = notices[...].drop { $0.number <= space.notice }
        while let version = rest.first?.version {
            let commit = rest.prefix { $0.version == version }
            rest = rest.dropFirst(commit.count)
            var conflicts: [FieldConflict] = []
            for notice in commit where try concerns(notice.conflict, own) { conflicts.append(notice.conflict) }
            guard !conflicts.isEmpty else { continue }
            try note(
                overwritten: conflicts, deleted: try creation(ofDeleted: conflicts, in: space.space), in: space.space,
                now: now)
        }
        space.notice = last.number
    }

    /// Whether a conflict is news for this device: the losing value is its own, and the journal does not have the conflict from
    /// the answer to a push, or from another history of the server.
    ///
    /// The winning value may have a client id of this device, too: that of a copy of its database.
    private func concerns(_ conflict: FieldConflict, _ own: Set<ClientID>) throws(StoreFailure) -> Bool {
        guard own.contains(conflict.loser.stamp.client) else { return false }
        let known = try connection.statement(
            """
            SELECT 1 FROM sync_conflict WHERE collection = ?1 AND id = ?2 AND field = ?3 AND loser_time = ?4
                AND loser_client = ?5 AND winner_time = ?6 AND winner_client = ?7 LIMIT 1
            """)
        known.bind(1, conflict.collection.rawValue)
        known.bind(2, conflict.record)
        known.bind(3, conflict.field.rawValue)
        known.bind(4, Int64(bitPattern: conflict.loser.stamp.time.rawValue))
        known.bind(5, conflict.loser.stamp.client.description)
        known.bind(6, Int64(bitPattern: conflict.winner.stamp.time.rawValue))
        known.bind(7, conflict.winner.stamp.client.description)
        defer { known.reset() }
        return try !known.step()
    }

    /// Returns a transaction that creates the deleted records again, with the values that they have before the page removes them;
    /// nil when nothing was deleted, or the records are not here.
    private func creation(
        ofDeleted conflicts: [FieldConflict], in space: SpaceID
    ) throws(StoreFailure) -> Transaction? {
        var mutations: [Mutation] = []
        for conflict in conflicts
        where conflict.rule == .deleteWins && !mutations.contains(where: { $0.record == conflict.record }) {
            guard let table = tables.first(where: { $0.model.collection == conflict.collection }),
                let record = try row(RecordPlace(table: table.position, id: conflict.record))?.record
            else { continue }
            mutations.append(
                Mutation(
                    collection: conflict.collection, record: conflict.record, time: .zero,
                    intent: .create(record.patch(schema: table.model))))
        }
        return mutations.isEmpty ? nil : Transaction(space: space, mutations: mutations)
    }
}
