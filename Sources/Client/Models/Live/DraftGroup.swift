import SyncConcurrency
import SyncModel

/// Drafts that refer to one another, kept alive together for as long as anybody holds one of them.
///
/// Live objects hold their group, the group holds the states of the drafts, and these hold neither. Two groups that
/// come to refer to each other become one; the one that is left leads to the other.
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

    func add(_ cell: LiveCell, id: RecordID) {
        state.withLock { $0.members[id] = cell }
    }

    /// Once created, a draft is kept by its source.
    func remove(_ id: RecordID) {
        // The removed state outlives the lock: its last release must not run under it.
        _ = state.withLock { $0.members.removeValue(forKey: id) }
    }

    /// Moves everything into `other`. Only under the lock of the objects' groups, and on two different roots.
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
