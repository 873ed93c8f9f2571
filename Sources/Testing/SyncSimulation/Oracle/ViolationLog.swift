import SyncConcurrency

/// The violations that the oracles of one world have found, in order.
///
/// The log calls no other code, so an observer may report while it holds its own lock.
final class ViolationLog: Sendable {
    private let found = Guarded([Violation]())

    func report(_ violation: Violation) {
        found.withLock { $0.append(violation) }
    }

    /// Returns the first violation and discards the others.
    func take() -> Violation? {
        found.withLock { found in
            defer { found = [] }
            return found.first
        }
    }
}
