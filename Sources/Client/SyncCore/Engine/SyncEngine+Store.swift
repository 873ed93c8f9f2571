import Logging
import SyncModel

extension SyncEngine {
    /// Calls the store synchronously and returns its result as an event.
    func ask(_ action: StoreAction) -> StoreEvent {
        switch action {
        case .countOutbox:
            answer(.session(.countingOutbox)) { () throws(StoreFailure) in .outboxCounted(try store.outboxSummary()) }
        case .takeBatch(let limit):
            answer(.outbox(.takingBatch)) { () throws(StoreFailure) in
                if let batch = try store.takeBatch(limit, now: runtime.now()) { return .batchTaken(batch) }
                return .nothingToPush(try store.outboxSummary())
            }
        case .record(let results, let identity, let serverTime):
            answer(.outbox(.recordingResults)) { () throws(StoreFailure) in
                try store.observe(serverTime, now: runtime.now())
                return .resultsRecorded(try store.record(results, of: identity, now: runtime.now()))
            }
        case .withdraw(let number, let rejection, let identity):
            answer(.outbox(.withdrawing)) { () throws(StoreFailure) in
                logger.warning(
                    "The server refuses to take a transaction.",
                    metadata: ["number": "\(number)", "code": "\(rejection.code)", "reason": "\(rejection.message)"])
                return .transactionWithdrawn(try store.withdraw(number, of: identity, because: rejection))
            }
        case .apply(let page, let cursor, let brake):
            answer(.space(page.space, .applyingPage)) { () throws(StoreFailure) in
                .pageApplied(page.space, try store.apply(page, after: cursor, brake: brake, now: runtime.now()))
            }
        case .resetCursor(let space):
            answer(.space(space, .resettingCursor)) { () throws(StoreFailure) in
                try store.resetCursor(of: space)
                return .cursorReset(space)
            }
        case .vacate(let space, let epoch, let brake):
            answer(.space(space, .vacating)) { () throws(StoreFailure) in
                let result = try store.vacate(space, of: epoch, brake: brake)
                if case .vacated(let vacated) = result, vacated.removedRecords > 0 {
                    logger.notice(
                        "The account has lost access to a space, which was removed.",
                        metadata: ["space": "\(space)", "records": "\(vacated.removedRecords)"])
                }
                return .spaceVacated(space, result)
            }
        case .adopt(let epoch, let account):
            answer(.session(.adopting)) { () throws(StoreFailure) in
                .sessionChanged(try store.adopt(epoch, as: account))
            }
        case .renewIdentity:
            answer(.outbox(.renewingIdentity)) { () throws(StoreFailure) in
                var random = runtime.generator
                return .sessionChanged(
                    try store.renewIdentity(as: ClientID.make(at: runtime.now(), random: &random)))
            }
        }
    }

    private func answer(_ task: StoreTask, _ body: () throws(StoreFailure) -> StoreEvent) -> StoreEvent {
        do throws(StoreFailure) {
            return try body()
        } catch {
            logger.error(
                "The local store failed.", metadata: ["task": "\(task)", "code": "\(error.code)", "reason": "\(error)"])
            return .failed(task, error)
        }
    }

    /// Records news of the contact. If the store cannot write it, only this run knows it.
    func note(_ news: ContactNews) {
        let now = runtime.now()
        guard contact.note(news, now: now) else { return }
        do {
            try store.note(news, now: now)
        } catch {
            logger.debug("The state of the contact was not written down.", metadata: ["reason": "\(error)"])
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
