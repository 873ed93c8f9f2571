import SyncCore
import SyncModel

/// How a transaction has left a device's outbox, and whether it was right to.
struct Settlement {
    let device: String
    let sequence: OutboxSequence
    let debt: History.Owed
    /// The server's answer, as far as is known.
    let outcome: Outcome?
    /// The server's answers in histories that it has lost.
    let former: [Outcome]
    /// The journal's entries about it.
    let told: [JournalEntry.Event]
    /// The refused transactions among all that was written earlier, as the journal tells.
    let refusedBefore: [Transaction]
    /// Whether what it met may have gone with the access to its space.
    let mayBeUntold: Bool
    /// Whether a hostile server has refused it.
    let isRefusedByLiar: Bool

    /// - Parameter wasCancelled: whether the user has taken it back.
    func check(wasCancelled: Bool) throws(Violation) {
        for event in told {
            switch event {
            case .cancelled where !wasCancelled:
                throw Violation(.I1, "\(device) took transaction \(sequence) back, which nobody had asked for")
            case .cancelled(let kept): try checkIsWhole(kept)
            case .rejected(let kept, let rejection):
                try check(rejection, of: kept)
                try checkIsWhole(kept)
            case .merged, .overwritten, .forgotten: break
            }
        }
        if case .applied(_, _, let conflicts)? = outcome, !conflicts.isEmpty, !former.contains(where: \.isSmooth),
            !mayBeUntold
        {
            // After the device's disk was rolled back it may have been refused under another number since, or taken back
            // while it waited for one: it is in the journal, whole.
            let isTold = told.contains { event in
                switch event {
                case .merged(let said): said == conflicts || former.contains { $0.conflicts == said }
                case .rejected, .cancelled: true
                case .overwritten, .forgotten: false
                }
            }
            guard isTold else {
                throw Violation(
                    .I6,
                    "\(device): transaction \(sequence) met \(conflicts.count) other edits as \(debt.operation.map { "\($0)" } ?? "nothing"), and its user is told \(told)"
                )
            }
        }
    }

    /// Nothing is refused for good but what the server has refused, and what depends on that (I17).
    private func check(_ rejection: Rejection, of kept: Transaction) throws(Violation) {
        // It was never sent.
        if rejection.code == .dependsOnRejected {
            guard refusedBefore.contains(where: kept.depends) else {
                throw Violation(
                    .I17,
                    "\(device) gave transaction \(sequence) up, as if it depended on one that was refused: \(kept)")
            }
            return
        }
        if isRefusedByLiar, rejection.code == .forbidden || rejection.code == .malformed { return }
        guard ([outcome].compactMap(\.self) + former).contains(.rejected(rejection)) else {
            throw Violation(
                .I17,
                "\(device) gave transaction \(sequence) up for \(rejection.code), but the server says \(outcome.map { "\($0)" } ?? "nothing")"
            )
        }
    }

    /// The journal keeps all that the user had said (I1).
    private func checkIsWhole(_ kept: Transaction) throws(Violation) {
        guard let said = debt.transaction, !said.says(kept) else { return }
        throw Violation(.I1, "\(device) keeps \(kept) in its journal of transaction \(sequence), which was \(said)")
    }
}

extension Outcome {
    fileprivate var conflicts: [FieldConflict]? {
        if case .applied(_, _, let conflicts) = self { conflicts } else { nil }
    }

    /// Whether there was nothing to tell.
    fileprivate var isSmooth: Bool { conflicts?.isEmpty ?? false }
}

extension Transaction {
    /// Whether both say the same. What their users had seen may differ: in a new history nobody has seen anything.
    func says(_ other: Transaction) -> Bool {
        space == other.space && mutations.map(\.blind) == other.mutations.map(\.blind)
    }

    /// Whether this changes a record that the other changes, or refers to it.
    fileprivate func depends(on other: Transaction) -> Bool {
        let records = Set(other.mutations.map(\.record))
        return mutations.contains { mutation in
            records.contains(mutation.record)
                || mutation.patch.contains {
                    if case .reference(let id) = $0.value { records.contains(id) } else { false }
                }
        }
    }
}

extension Mutation {
    /// Without the versions that its user had seen.
    fileprivate var blind: Mutation {
        let intent: Intent =
            switch intent {
            case .create(let patch): .create(patch)
            case .update(let edits):
                .update(
                    edits.map { FieldEdit(field: $0.field, value: $0.value, before: $0.before, seen: .zero) })
            case .delete: .delete(seen: .zero)
            }
        return Mutation(collection: collection, record: record, time: time, intent: intent)
    }
}
