import SyncCore
import SyncModel

/// The way in which a transaction left a device's outbox, and the check that this way was correct.
struct Settlement {
    let device: String
    let sequence: OutboxSequence
    let unconfirmed: History.Unconfirmed
    /// The server's outcome; nil when it is unknown.
    let outcome: Outcome?
    /// The server's outcomes in histories that it has lost.
    let former: [Outcome]
    /// The journal's events about the transaction.
    let told: [JournalEntry.Event]
    /// The conflicts of which the user has learned from notices. A notice may arrive before the outcome.
    let noticed: Set<FieldConflict>
    /// The rejected transactions among those written earlier, according to the journal.
    let rejectedBefore: [Transaction]
    /// Whether the journal's entry about a conflict may have been removed with the access to the space.
    let mayBeUntold: Bool
    /// Whether a hostile server has refused the transaction.
    let isRefusedByLiar: Bool
    /// Whether the server has refused a push of this transaction alone because its body was too long.
    let isTooLong: Bool

    /// Checks that the journal's events match the outcome.
    ///
    /// - Parameter wasCancelled: whether the user has cancelled the transaction.
    func check(wasCancelled: Bool) throws(Violation) {
        for event in told {
            switch event {
            case .cancelled where !wasCancelled:
                throw Violation(.I1, "\(device) cancelled transaction \(sequence), which its user had not cancelled")
            case .cancelled(let kept): try checkIsWhole(kept)
            case .rejected(let kept, let rejection):
                try check(rejection, of: kept)
                try checkIsWhole(kept)
            case .merged, .overwritten, .noticesRemoved, .lost: break
            }
        }
        if case .applied(_, _, let conflicts)? = outcome, !conflicts.isEmpty, !former.contains(where: \.isSmooth),
            !mayBeUntold
        {
            // The user is told of a conflict once, although a notice and the outcomes in several histories may report
            // it.
            let said = told.reduce(into: Set(noticed.map(Loss.init))) { said, event in
                if case .merged(let conflicts) = event { said.formUnion(conflicts.map(Loss.init)) }
            }
            func isTold(_ conflicts: [FieldConflict]) -> Bool { said.isSuperset(of: conflicts.map(Loss.init)) }
            // After the device's disk was rolled back, the transaction may have been rejected under another number, or
            // cancelled while it was waiting for one. The journal then holds it complete.
            let isKept = told.contains { event in
                switch event {
                case .rejected, .cancelled: true
                case .merged, .overwritten, .noticesRemoved, .lost: false
                }
            }
            let isFormer = former.contains { $0.conflicts.map { !$0.isEmpty && isTold($0) } ?? false }
            guard isKept || isFormer || isTold(conflicts) else {
                throw Violation(
                    .I6,
                    "\(device): transaction \(sequence) met \(conflicts.count) other edits as \(unconfirmed.operation.map { "\($0)" } ?? "nothing"), and its user is not told of \(conflicts.filter { !isTold([$0]) }), but of \(told)"
                )
            }
        }
    }

    /// A lost value, as a user learns of it from a conflict. It leaves out the value from before both edits, which may
    /// differ between two histories of the server.
    private struct Loss: Hashable {
        let record: RecordAddress
        let field: FieldName
        let winner: Stamp
        let loser: Stamp
        let value: FieldValue

        init(_ conflict: FieldConflict) {
            record = RecordAddress(conflict.collection, conflict.record)
            field = conflict.field
            winner = conflict.winner.stamp
            loser = conflict.loser.stamp
            value = conflict.loser.value
        }
    }

    /// Checks that the server rejected the transaction, or one that the transaction depends on (I17).
    private func check(_ rejection: Rejection, of kept: Transaction) throws(Violation) {
        // A dependent transaction was never sent.
        if rejection.code == .dependsOnRejected {
            guard rejectedBefore.contains(where: kept.depends) else {
                throw Violation(
                    .I17,
                    "\(device) gave transaction \(sequence) up, as if it depended on one that was rejected: \(kept)")
            }
            return
        }
        if isRefusedByLiar, rejection.code == .forbidden || rejection.code == .malformed { return }
        let outcomes = [outcome].compactMap(\.self) + former
        let isApplied = outcomes.contains { if case .applied = $0 { true } else { false } }
        if isTooLong, !isApplied, rejection.code == .tooLarge { return }
        guard outcomes.contains(.rejected(rejection)) else {
            throw Violation(
                .I17,
                "\(device) gave transaction \(sequence) up for \(rejection.code), but the server says \(outcome.map { "\($0)" } ?? "nothing")"
            )
        }
    }

    /// Checks that the journal holds the complete transaction (I1).
    private func checkIsWhole(_ kept: Transaction) throws(Violation) {
        guard let said = unconfirmed.transaction, !said.says(kept) else { return }
        throw Violation(.I1, "\(device) keeps \(kept) in its journal of transaction \(sequence), which was \(said)")
    }
}

extension Outcome {
    fileprivate var conflicts: [FieldConflict]? {
        if case .applied(_, _, let conflicts) = self { conflicts } else { nil }
    }

    /// Whether the transaction was applied without a conflict.
    fileprivate var isSmooth: Bool { conflicts?.isEmpty ?? false }
}

extension Transaction {
    /// Returns whether both transactions make the same changes.
    ///
    /// The versions that their users had seen may differ: they are reset in a new history.
    func says(_ other: Transaction) -> Bool {
        space == other.space && mutations.map(\.blind) == other.mutations.map(\.blind)
    }

    /// Returns whether this transaction changes a record that the other changes, or refers to such a record.
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
    /// The mutation without the versions that its user had seen.
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
