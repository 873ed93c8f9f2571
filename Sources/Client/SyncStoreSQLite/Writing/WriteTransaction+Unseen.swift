import SQLiteDatabase
import SyncCore
import SyncModel

/// A value that an edit replaces although its author did not see it, and that no server can report.
struct UnseenValue {
    let field: FieldName
    let value: FieldValue
    /// The value that the author saw.
    let seen: FieldValue
    /// Whether only a history has the value that the server has lost. Otherwise, this device wrote it.
    let isOfLostHistory: Bool
}

// The server trusts that a device knows its own edits. If two programs share a database, one can replace a value that
// the other has written and that its user never saw. Only the device can notice that. The same is true of a value that
// a restored server has lost.
extension WriteTransaction {
    /// Adds the values that the author of the next edit of a draft did not see and that no server can report.
    ///
    /// - Parameters:
    ///   - fields: the fields that the edit sets or deletes, as the author saw them.
    ///   - pending: the fields with pending values.
    func noteUnseen(
        _ fields: [(FieldName, SeenField)], _ pending: [FieldName: Version], _ draft: inout Draft, in space: SpaceID
    ) throws {
        guard let original = draft.original?.record else { return }
        let model = tables[draft.place.table].model
        for (name, seen) in fields where !draft.unseen.contains(where: { $0.field == name }) {
            guard let position = model.position(of: name) else { continue }
            let value = original.values[position]
            guard value != seen.value, !value.isNull else { continue }
            let version = original.version(ofFieldAt: position)
            // The versions of a lost history have been cleared.
            let isOfLostHistory = pending[name] == nil && original.version == .zero && seen.version > .zero
            guard
                try pending[name] != nil || isOfLostHistory || seen.version < version && isOwn(version, in: space)
            else { continue }
            draft.unseen.append(
                UnseenValue(field: name, value: value, seen: seen.value, isOfLostHistory: isOfLostHistory))
        }
    }

    /// Notes in the journal the unseen values that the drafts replace. The rows must still have them.
    func noteUnseenValues(replacedBy drafts: [Draft], at time: HybridTime, in space: SpaceID, now: WallTime) throws {
        let client = meta.identity.client
        var conflicts: [FieldConflict] = []
        for draft in drafts {
            let model = tables[draft.place.table].model
            for unseen in draft.unseen.sorted(by: { $0.field < $1.field }) {
                let kept = model.position(of: unseen.field).flatMap { draft.current?.values[$0] } ?? .null
                guard kept != unseen.value else { continue }
                if unseen.isOfLostHistory, draft.current != nil {
                    try offer(lost: unseen, of: draft.place, in: space, now: now)
                    continue
                }
                conflicts.append(
                    FieldConflict(
                        collection: model.collection, record: draft.place.id, field: unseen.field, base: unseen.seen,
                        winner: Contender(value: kept, stamp: Stamp(time: time, client: client)),
                        loser: Contender(
                            value: unseen.value,
                            stamp: Stamp(time: try timeOfPending(unseen.field, at: draft.place), client: client)),
                        rule: draft.current == nil ? .deleteWins : .latestEdit))
            }
        }
        guard !conflicts.isEmpty else { return }
        try note(
            overwritten: conflicts, deleted: try creation(ofDeleted: conflicts, in: space), in: space, now: now)
    }

    /// Offers a value that only a lost history has, and that an edit replaces.
    private func offer(lost unseen: UnseenValue, of place: RecordPlace, in space: SpaceID, now: WallTime) throws {
        let model = tables[place.table].model
        let edit = FieldEdit(field: unseen.field, value: unseen.value, before: unseen.value, seen: .zero)
        let mutation = Mutation(
            collection: model.collection, record: place.id, time: .zero, intent: .update([edit]))
        let former = try formerVersions(of: place)
        let isOwn = model.position(of: unseen.field).flatMap { former?[$0] }.map(Self.isOwn) ?? false
        try noteOnce(
            lost: Transaction(space: space, mutations: [mutation]), own: isOwn ? .all : .nothing, now: now)
    }

    /// Returns the time of the newest pending edit of a field; zero if none is pending.
    private func timeOfPending(_ field: FieldName, at place: RecordPlace) throws -> HybridTime {
        let collection = tables[place.table].model.collection
        var time = HybridTime.zero
        for mutation in try pendingTransactions(of: place).lazy.flatMap(\.mutations)
        where mutation.record == place.id && mutation.collection == collection && mutation.patch[field] != nil {
            time = max(time, mutation.time)
        }
        return time
    }

    /// Returns whether a version is known as that of a commit of this device.
    private func isOwn(_ version: Version, in space: SpaceID) throws -> Bool {
        let statement = try connection.statement(
            "SELECT 1 FROM sync_confirmed WHERE version = ?1 AND space = ?2 LIMIT 1")
        statement.bind(1, version.rawValue)
        statement.bind(2, space.rawValue)
        defer { statement.reset() }
        return try statement.step()
    }
}
