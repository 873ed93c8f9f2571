import SyncCore
import SyncModel

/// How a transaction has left a device's outbox, and whether it was right to.
struct Settlement {
    let device: String
    let sequence: OutboxSequence
    /// As what it was sent last.
    let operation: History.Operation?
    /// What the server has answered, as far as is known.
    let outcome: Outcome?
    /// What the journal says of it.
    let told: [JournalEntry.Event]

    /// - Parameters:
    ///   - wasCancelled: whether the user has taken it back.
    ///   - isCertain: whether what the server answered is still true.
    func check(wasCancelled: Bool, isCertain: Bool) throws(Violation) {
        for event in told {
            switch event {
            case .cancelled where !wasCancelled:
                throw Violation(.I1, "\(device) took transaction \(sequence) back, which nobody had asked for")
            case .rejected(_, let rejection) where isCertain: try check(rejection)
            case .cancelled, .rejected, .merged, .forgotten: break
            }
        }
        if case .applied(_, _, let conflicts)? = outcome, !conflicts.isEmpty, isCertain {
            // After the device's disk was rolled back it may have been refused under another number since, or taken back
            // while it waited for one: it is in the journal, whole.
            let isTold = told.contains { event in
                switch event {
                case .merged(let said): said == conflicts
                case .rejected, .cancelled: true
                case .forgotten: false
                }
            }
            guard isTold else {
                throw Violation(
                    .I6,
                    "\(device): transaction \(sequence) met \(conflicts.count) other edits as \(operation.map { "\($0)" } ?? "nothing"), and its user is told \(told)"
                )
            }
        }
    }

    /// Nothing is refused for good but what the server has refused (I17).
    private func check(_ rejection: Rejection) throws(Violation) {
        // It was never sent, as what it depends on was refused.
        if rejection.code == .dependsOnRejected { return }
        guard case .rejected(rejection)? = outcome else {
            throw Violation(
                .I17,
                "\(device) gave transaction \(sequence) up for \(rejection.code), but the server says \(outcome.map { "\($0)" } ?? "nothing")"
            )
        }
    }
}
