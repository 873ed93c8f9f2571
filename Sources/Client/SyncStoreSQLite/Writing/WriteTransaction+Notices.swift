import SQLiteDatabase
import SyncCore
import SyncModel

// Conflict notices of a page: values of this device that lost to others.
extension WriteTransaction {
    /// Writes new notices to the journal, one entry per commit. Without room, they are requested again later.
    func note(_ notices: [ConflictNotice], in space: inout SpaceRow, now: WallTime) throws {
        guard let last = notices.last, last.number > space.notice, try hasRoomForNotices() else { return }
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

    private func hasRoomForNotices() throws -> Bool {
        try Notices.haveRoom(meta, limits, connection)
    }

    /// Whether the journal needs a conflict: the losing value is this device's, and the journal does not already have
    /// the conflict from the response to a push, or from another history of the server.
    ///
    /// The winning value may carry a client id of this device too, if a copy of its database wrote it.
    private func concerns(_ conflict: FieldConflict, _ own: Set<ClientID>) throws -> Bool {
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

    /// Returns a transaction that creates the deleted records again, with the values that they have before the page
    /// removes them; nil when nothing was deleted, or when the device does not have the records.
    private func creation(
        ofDeleted conflicts: [FieldConflict], in space: SpaceID
    ) throws -> Transaction? {
        var mutations: [Mutation] = []
        for conflict in conflicts
        where conflict.rule == .deleteWins && !mutations.contains(where: { $0.record == conflict.record }) {
            guard let table = tables.first(where: { $0.model.collection == conflict.collection }),
                let record = try row(RecordRow(table: table.position, id: conflict.record))?.record
            else { continue }
            mutations.append(
                Mutation(
                    collection: conflict.collection, record: conflict.record, time: .zero,
                    intent: .create(record.patch(schema: table.model))))
        }
        return mutations.isEmpty ? nil : Transaction(space: space, mutations: mutations)
    }
}
