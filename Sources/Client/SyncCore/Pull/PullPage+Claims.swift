import SyncModel

// Detects pages whose claims contradict the stored state, the request, or earlier pages. Accepting one could cause an
// endless loop or move the device backward.

extension PullPage {
    /// Returns a message that says why the page cannot be true; nil if it can be true.
    ///
    /// - Parameters:
    ///   - stored: The space as the device holds it. The page was requested for this space.
    ///   - cursor: The cursor that the page was requested with.
    ///   - trail: Detects a cycle in the cursors of this run; nil before its first page.
    func contradiction(to stored: StoredSpace, after cursor: Cursor?, trail: CursorTrail?) -> String? {
        if hasMore, let trail, trail.mark == self.cursor {
            return "the server's pages of space \(stored.space) form a cycle: they returned to an earlier cursor"
        }
        if space != stored.space {
            return "the server answered a pull of space \(stored.space) with a page of space \(space)"
        }
        if hasMore, self.cursor == cursor {
            return "the server announces more of space \(space), but its cursor did not advance"
        }
        switch content {
        case .commits:
            if hasMore, version <= stored.version {
                return "the server announces more of space \(space), but stayed at version \(version)"
            }
            if version < stored.version {
                return "space \(space) went back from version \(stored.version) to \(version)"
            }
        case .snapshot(_, let isFirst, _):
            if isFirst, cursor != nil {
                return "the server restarted the snapshot of space \(space), although a continuation was requested"
            }
        }
        return nil
    }

    /// Returns whether the page advanced the device. Each page of a snapshot with a new cursor advances it, because the
    /// store refuses rows that are not in increasing order.
    func isProgress(from before: StoredSpace, to after: StoredSpace) -> Bool {
        guard before.cursor != after.cursor else { return false }
        return switch content {
        case .snapshot: true
        case .commits: after.version > before.version || after.isComplete != before.isComplete
        }
    }
}
