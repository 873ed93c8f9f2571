import Logging
import SyncModel

extension SyncEngine {
    /// Calls the store synchronously and returns its result as an event.
    func ask(_ action: StoreAction) -> StoreEvent {
        switch action {
        case .countOutbox:
            result(of: .session(.countingOutbox)) { .outboxCounted(try store.outboxSummary()) }
        case .readSpaces:
            result(of: .session(.readingSpaces)) { .spacesRead(try store.followedSpaces()) }
        case .takeBatch(let limit):
            result(of: .outbox(.takingBatch)) {
                if let batch = try store.takeBatch(limit, now: runtime.now()) { return .batchTaken(batch) }
                return .nothingToPush(try store.outboxSummary())
            }
        case .record(let results, let identity, let serverTime):
            result(of: .outbox(.recordingResults)) {
                try store.observe(serverTime, now: runtime.now())
                return .resultsRecorded(try store.record(results, of: identity, now: runtime.now()))
            }
        case .withdraw(let number, let rejection, let identity):
            result(of: .outbox(.withdrawing)) {
                logger.warning(
                    "The server refuses to take a transaction.",
                    metadata: ["number": "\(number)", "code": "\(rejection.code)", "reason": "\(rejection.message)"])
                return .transactionWithdrawn(try store.withdraw(number, of: identity, because: rejection))
            }
        case .apply(let page, let cursor, let brake):
            result(of: .space(page.space, .applyingPage)) {
                .pageApplied(page.space, try store.apply(page, after: cursor, brake: brake, now: runtime.now()))
            }
        case .resetCursor(let space):
            result(of: .space(space, .resettingCursor)) {
                try store.resetCursor(of: space)
                return .cursorReset(space)
            }
        case .vacate(let space, let epoch, let brake):
            result(of: .space(space, .vacating)) {
                let result = try store.vacate(space, of: epoch, brake: brake, now: runtime.now())
                if case .vacated(let vacated) = result, vacated.removedRecords > 0 {
                    logger.notice(
                        "The account has lost access to a space. Its records were removed from this device.",
                        metadata: ["space": "\(space)", "records": "\(vacated.removedRecords)"])
                }
                return .spaceVacated(space, result)
            }
        case .adopt(let epoch, let account):
            result(of: .session(.adopting)) {
                .sessionChanged(try store.adopt(epoch, as: account))
            }
        case .renewIdentity:
            result(of: .outbox(.renewingIdentity)) {
                var random = runtime.generator
                return .sessionChanged(
                    try store.renewIdentity(as: ClientID.make(at: runtime.now(), random: &random)))
            }
        }
    }

    private func result(of task: StoreTask, _ body: () throws -> StoreEvent) -> StoreEvent {
        do throws(StoreError) {
            return try StoreError.typed(body)
        } catch {
            logger.log(
                level: error.code == .otherAccount ? .warning : .error,
                error.code == .contradiction || error.code == .otherAccount
                    ? "The store refused what the server has sent." : "The local store failed.",
                metadata: ["task": "\(task)", "code": "\(error.code)", "reason": "\(error)"])
            return .failed(task, error)
        }
    }

    /// Updates the contact in the status and in the store. If the store fails, the change is lost at the end of the
    /// run.
    func note(_ change: ContactChange) {
        let now = runtime.now()
        var change = change
        if case .paused(let duration, _) = change { change = .paused(duration, by: commands.serverAddress) }
        guard contact.note(change, now: now) else { return }
        do {
            try store.note(change, now: now)
        } catch {
            logger.debug(
                "The state of the contact with the server could not be stored.", metadata: ["reason": "\(error)"])
        }
    }

    /// Runs a checkpoint. A failure costs disk space, not data: the next checkpoint makes up for it.
    func checkpoint() {
        do {
            try store.checkpoint()
        } catch {
            logger.warning("The WAL checkpoint failed.", metadata: ["reason": "\(error)"])
        }
    }
}
