package import SyncModel

/// The versions that hints have announced, and the back-off for pulls that do not reach them.
///
/// A hint normally starts a pull at once. If a pull ends below the version that was announced when it began, the next
/// hinted pull waits, longer each time, until a pull reaches it. Otherwise, a server that announces versions that it
/// never serves would cause a pull for each hint.
package struct HintedVersions: Hashable, Sendable {
    /// The newest version that a hint has announced and no pull has reached.
    package private(set) var newest: Version?
    /// The value of `newest` at the start of the last pull, which has to show it.
    package private(set) var awaited: Version?
    /// Counts the pulls in a row that did not show what was announced before they began.
    package private(set) var backoff: Backoff

    package init(newest: Version? = nil, awaited: Version? = nil, backoff: Backoff = Backoff()) {
        self.newest = newest
        self.awaited = awaited
        self.backoff = backoff
    }

    /// Whether the last pull did not show what was announced before it began.
    var isOverdue: Bool { backoff.failures > 0 }

    mutating func note(_ version: Version) {
        newest = newest.map { max($0, version) } ?? version
    }

    mutating func pullBegan() {
        awaited = newest
    }

    /// Returns the wait before the next pull for a hint, or nil if the pull has shown what was announced before it
    /// began.
    ///
    /// The wait is at most the poll interval without hints: wrong hints never make polling slower than without hints.
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
