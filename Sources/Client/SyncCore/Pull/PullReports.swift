package import SyncModel

/// The versions that the server's hints report, and the wait for those that a pull did not show.
///
/// A report starts a pull at once. If the pull does not show the reported version, the next pull for a report waits,
/// longer each time, until a pull shows what was reported before it began. Otherwise, a server whose hints promise what
/// it never shows would cause a pull for each hint.
package struct PullReports: Hashable, Sendable {
    /// The newest version that was reported and not yet shown.
    package private(set) var newest: Version?
    /// The value of `newest` at the start of the last pull, which has to show it.
    package private(set) var awaited: Version?
    /// Counts the pulls in a row that did not show what was reported before they began.
    package private(set) var backoff: Backoff

    package init(newest: Version? = nil, awaited: Version? = nil, backoff: Backoff = Backoff()) {
        self.newest = newest
        self.awaited = awaited
        self.backoff = backoff
    }

    /// Whether the last pull did not show what was reported before it began.
    var isOverdue: Bool { backoff.failures > 0 }

    mutating func reported(_ version: Version) {
        newest = newest.map { max($0, version) } ?? version
    }

    mutating func pullBegan() {
        awaited = newest
    }

    /// Returns the wait before the next pull for a report, or nil if the pull has shown what was reported before it
    /// began.
    ///
    /// The wait is at most the poll interval without hints: wrong hints are worth no more than none.
    ///
    /// - Parameter head: The newest version that the server has shown.
    mutating func pulled(to head: Version, _ turn: inout Turn) -> Duration? {
        if let newest, newest <= head { self.newest = nil }
        guard let awaited, awaited > head else {
            awaited = nil
            backoff.reset()
            return nil
        }
        return min(
            turn.policy.pollInterval,
            backoff.nextDelay(retryAfter: nil, policy: turn.policy.backoff, random: &turn.random))
    }
}
