package import SyncModel

/// The store's response to a `StoreAction`.
package enum StoreEvent: Hashable, Sendable {
    case batchTaken(PushBatch)
    /// Every transaction in the outbox is answered or held back.
    case nothingToPush(OutboxSummary)
    case outboxCounted(OutboxSummary)
    case resultsRecorded(OutboxSummary)
    case transactionWithdrawn(OutboxSummary)
    case pageApplied(SpaceID, ApplyResult)
    case cursorReset(SpaceID)
    case spaceVacated(SpaceID, VacateResult)
    /// The spaces that the device follows, sorted by name.
    case spacesRead([StoredSpace])
    /// The epoch was adopted or the identity renewed. The value is the session as it is stored now.
    case sessionChanged(StoredSession)
    case failed(StoreTask, StoreError)

    package enum Name: String, CaseIterable {
        case batchTaken = "batch_taken"
        case nothingToPush = "nothing_to_push"
        case outboxCounted = "outbox_counted"
        case resultsRecorded = "results_recorded"
        case transactionWithdrawn = "transaction_withdrawn"
        case pageApplied = "page_applied"
        case pageBraked = "page_braked"
        case cursorReset = "cursor_reset"
        case spaceVacated = "space_vacated"
        case vacateBraked = "vacate_braked"
        case spacesRead = "spaces_read"
        case sessionChanged = "session_changed"
        case failed = "store_failed"
    }

    package var label: EventLabel<Name> {
        switch self {
        case .batchTaken(let batch):
            EventLabel(.batchTaken, ": \(batch.transactions.count) transactions, \(batch.outbox.facts)")
        case .nothingToPush(let outbox): EventLabel(.nothingToPush, ", \(outbox.facts)")
        case .outboxCounted(let outbox): EventLabel(.outboxCounted, ", \(outbox.facts)")
        case .resultsRecorded(let outbox): EventLabel(.resultsRecorded, ", \(outbox.facts)")
        case .transactionWithdrawn(let outbox): EventLabel(.transactionWithdrawn, ", \(outbox.facts)")
        case .pageApplied(let space, .applied(let stored, let outbox, let count)):
            EventLabel(
                .pageApplied,
                " in \(space): \(count) records, version \(stored.version)\(stored.isComplete ? "" : ", incomplete"), \(outbox.facts)"
            )
        case .pageApplied(let space, .braked(let deletes, let total)):
            EventLabel(.pageBraked, " in \(space): it would delete \(deletes) of \(total) records")
        case .cursorReset(let space): EventLabel(.cursorReset, " in \(space)")
        case .spaceVacated(let space, .vacated(let vacated)):
            EventLabel(.spaceVacated, ": \(space), \(vacated.removedRecords) records, \(vacated.outbox.facts)")
        case .spaceVacated(let space, .braked(let deletes, let total)):
            EventLabel(.vacateBraked, " in \(space): it would delete \(deletes) of \(total) records")
        case .spacesRead(let spaces):
            EventLabel(.spacesRead, ": \(spaces.map(\.space.rawValue).joined(separator: ", "))")
        case .sessionChanged(let session):
            EventLabel(.sessionChanged, ": incarnation \(session.identity.incarnation)")
        case .failed(let task, let failure): EventLabel(.failed, " \(task): \(failure.code.rawValue)")
        }
    }
}

/// The store call that failed, grouped by the machine that waits for it.
package enum StoreTask: Hashable, Sendable {
    case session(SessionTask)
    case outbox(OutboxTask)
    case space(SpaceID, SpaceTask)

    package enum SessionTask: String, Sendable, CaseIterable {
        case countingOutbox = "counting_outbox"
        case readingSpaces = "reading_spaces"
        case adopting
    }

    package enum OutboxTask: String, Sendable, CaseIterable {
        case takingBatch = "taking_batch"
        case recordingResults = "recording_results"
        case withdrawing
        case renewingIdentity = "renewing_identity"
    }

    package enum SpaceTask: String, Sendable, CaseIterable {
        case applyingPage = "applying_page"
        case resettingCursor = "resetting_cursor"
        case vacating = "vacating_space"
    }
}

extension StoreTask: CustomStringConvertible {
    package var description: String {
        switch self {
        case .session(let task): task.plainText
        case .outbox(let task): task.plainText
        case .space(let space, let task): "\(task.plainText) in \(space)"
        }
    }
}

extension OutboxSummary {
    var facts: String {
        "outbox \(waiting) waiting \(sent) sent \(answered) answered"
    }
}
