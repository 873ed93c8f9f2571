import SQLiteDatabase
import SyncCore
import SyncModel

// Conflict notices of a page: values of this device that lost a conflict.
extension WriteTransaction {
    /// Writes the new notices of a page to the journal, and that the server has removed some before.
    func noteNotices(of page: PullPage, in space: inout SpaceRow, now: WallTime) throws {
        let removed = page.noticesRemovedUpTo.flatMap { $0 > space.notice ? $0 : nil }
        if let removed, try hasRoomForNotices() {
            try noteNoticesRemoved(in: space.space, now: now)
            space.notice = removed
            space.noticeFingerprint = nil
        }
        try note(page.notices, in: &space, now: now)
    }

    /// Writes new notices to the journal, one entry per commit. Without room, they are requested again later.
    ///
    /// Numbers that are not greater than the last one come from a server that does not have the last notice. It sends
    /// all its notices again. Those in the journal are recognized by their contents.
    private func note(_ notices: [ConflictNotice], in space: inout SpaceRow, now: WallTime) throws {
        guard let last = notices.last, last.number != space.notice || last.fingerprint != space.noticeFingerprint,
            try hasRoomForNotices()
        else { return }
        let own = Set(try clients())
        var rest = notices[...]
        while let version = rest.first?.version {
            let commit = rest.prefix { $0.version == version }
            rest = rest.dropFirst(commit.count)
            var conflicts: [FieldConflict] = []
            for notice in commit where own.contains(notice.conflict.loser.stamp.client) {
                if try !isNoted(notice.conflict) { conflicts.append(notice.conflict) }
            }
            guard !conflicts.isEmpty else { continue }
            try note(
                overwritten: conflicts, deleted: try creation(ofDeleted: conflicts, in: space.space), in: space.space,
                now: now)
        }
        space.notice = last.number
        space.noticeFingerprint = last.fingerprint
    }

    private func hasRoomForNotices() throws -> Bool {
        try Notices.haveRoom(meta, limits, connection)
    }

    /// Returns a transaction that creates the deleted records again, with the values that they have before they are
    /// removed; nil when nothing was deleted, or when the device does not have the records.
    func creation(
        ofDeleted conflicts: [FieldConflict], in space: SpaceID
    ) throws -> Transaction? {
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
