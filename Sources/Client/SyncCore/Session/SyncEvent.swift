package import SyncModel

/// An event of the session. Nothing else reaches the session.
package enum SyncEvent: Hashable, Sendable {
    // From the host.
    case started(StoredSession, LinkState)
    case syncRequested
    case credentialsChanged
    /// The user has agreed to the deletions that the mass-delete brake held back.
    case deletesAllowed(SpaceID)
    case stopRequested
    /// The host has cancelled the run, so the session waits for nothing.
    case aborted

    // From the device.
    case linkChanged(LinkState)
    /// A commit in the store, by this process or another, touched the outbox or the journal.
    case outboxTouched
    case timerFired(Serial)

    // From the server.
    case helloEnded(Serial, Result<ServerHello, TransportFailure>)
    case pushEnded(Serial, Result<PushReply, TransportFailure>)
    case pullEnded(Serial, SpaceID, Result<PullReply, TransportFailure>)
    case hint(Serial, Hint)
    case hintsEnded(Serial, String, retryAfter: Duration? = nil)

    // From the store, in response to an action.
    case batchTaken(PushBatch)
    /// Every transaction in the outbox is answered or held back.
    case nothingToPush(OutboxSummary)
    case outboxCounted(OutboxSummary)
    case resultsRecorded(OutboxSummary)
    case transactionWithdrawn(OutboxSummary)
    case pageApplied(SpaceID, ApplyResult)
    case cursorReset(SpaceID)
    case spaceVacated(SpaceID, VacateResult)
    /// The epoch was adopted or the identity renewed. The value is what is stored now.
    case sessionChanged(StoredSession)
    case storeFailed(StoreTask, StoreFailure)
}

/// The store call that failed.
package enum StoreTask: Hashable, Sendable {
    case countingOutbox, takingBatch, recordingResults, withdrawing, applyingPage(SpaceID), resettingCursor(SpaceID),
        vacatingSpace(SpaceID), adopting, renewingIdentity
}
