package import SyncModel

/// The versions that the server's hints name, and the wait for those that a pull did not show.
///
/// A hint starts a pull at once. If the pull does not show the named version, the next pull for a hint waits, longer each
/// time, until a pull shows what was named before it began. Otherwise, a server whose hints promise what
/// it never shows would cause a pull for each hint.
package struct HintedVersions: Hashable, Sendable {
    /// The newest version that a hint has named and no pull has shown.
    package private(set) var newest: Version?
    /// The value of `newest` at the start of the last pull, which has to show it.
    package private(set) var awaited: Version?
    /// Counts the pulls in a row that did not show what hints had named before they began.
    package private(set) var backoff: Backoff

    package init(newest: Version? = nil, awaited: Version? = nil, backoff: Backoff = Backoff()) {
        self.newest = newest
        self.awaited = awaited
        self.backoff = backoff
    }

    /// Whether the last pull did not show what hints had named before it began.
    var isOverdue: Bool { backoff.failures > 0 }

    mutating func note(_ version: Version) {
        newest = newest.map { max($0, version) } ?? version
    }

    mutating func pullBegan() {
        awaited = newest
    }

    /// Returns the wait before the next pull for a hint, or nil if the pull has shown what was reported before it
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
