import SyncConcurrency

/// The broken promises that the witnesses of one world have found, in the order in which they found them.
///
/// It calls nobody, so that a witness may report under a lock of its own.
final class ViolationLog: Sendable {
    private let found = Guarded([Violation]())

    func report(_ violation: Violation) {
        found.withLock { $0.append(violation) }
    }

    /// The first that was found, and none of those that came with it.
    func take() -> Violation? {
        found.withLock { found in
            defer { found = [] }
            return found.first
        }
    }
}
