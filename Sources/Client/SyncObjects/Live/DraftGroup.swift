import SyncConcurrency
import SyncModel

/// Drafts that refer to one another, kept alive together while any of them is in use.
///
/// The live objects of drafts hold their group, and so does the cell of a record that refers to drafts. The group holds
/// the cells of the drafts, which hold neither the objects nor the group. When drafts of two groups refer to each
/// other, the groups are joined: one keeps all members, and the other forwards to it.
final class DraftGroup: Sendable {
    private struct State: Sendable {
        var members: [RecordID: LiveCell] = [:]
        var successor: DraftGroup?
    }

    private let state = Guarded(State())

    var root: DraftGroup {
        var group = self
        while let next = group.state.withLock({ $0.successor }) { group = next }
        return group
    }

    /// The number of members, for a root.
    var count: Int { state.withLock { $0.members.count } }

    func add(_ cell: LiveCell, id: RecordID) {
        state.withLock { $0.members[id] = cell }
    }

    /// Removes a draft that was created or discarded, and need not be kept alive for the others.
    func remove(_ id: RecordID) {
        // The closure returns the removed cell, so that its last release happens after the lock is free.
        _ = state.withLock { $0.members.removeValue(forKey: id) }
    }

    /// Moves all members into `other`. Call only while holding the lock `LiveObjects.groups`, and with two different
    /// roots.
    func move(into other: DraftGroup) {
        let members = state.withLock { state in
            defer {
                state.members = [:]
                state.successor = other
            }
            return state.members
        }
        other.state.withLock { state in
            state.members.merge(members) { first, _ in first }
        }
        for cell in members.values { cell.group = other }
    }
}
