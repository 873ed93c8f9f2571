import SyncCore
import SyncModel

/// Text of an event, for the timeline of a replay.
package enum EventWords {
    package static func text(_ turn: RecordedTurn) -> String {
        text(turn.event, carried: turn.carried)
    }

    private static func text(_ event: SyncEvent, carried: Int) -> String {
        switch event {
        case .started(let session, let link): "started, \(words(link)), \(words(session.outbox))"
        case .syncRequested: "sync requested"
        case .credentialsChanged: "credentials changed"
        case .deletesAllowed(let space): "deletes allowed in \(space)"
        case .stopRequested: "stop requested"
        case .aborted: "aborted"
        case .linkChanged(let link): words(link)
        case .outboxTouched: "outbox touched"
        case .timerFired(let serial): "timer \(serial) fired"
        case .helloEnded(let serial, .success(let hello)):
            "hello \(serial) answered, \(hello.epoch), as \(hello.account)"
        case .helloEnded(let serial, .failure(let failure)): "hello \(serial) failed: \(words(failure))"
        case .pushEnded(let serial, .success(.answered)): "push \(serial) answered, \(carried) results"
        case .pushEnded(let serial, .success(.refused(let refusal))): "push \(serial) refused: \(words(refusal))"
        case .pushEnded(let serial, .failure(let failure)): "push \(serial) failed: \(words(failure))"
        case .pullEnded(let serial, let space, .success(.page(let page))):
            "pull \(serial) of \(space) answered: \(ActionWords.content(page.content)), \(carried) records, version \(page.version) of \(page.head)"
        case .pullEnded(let serial, let space, .success(.mustReset(let reason))):
            "pull \(serial) of \(space) must start again: \(reason.rawValue)"
        case .pullEnded(let serial, let space, .success(.noAccess(let epoch))):
            "pull \(serial) of \(space) answered: no access in \(epoch)"
        case .pullEnded(let serial, let space, .failure(let failure)):
            "pull \(serial) of \(space) failed: \(words(failure))"
        case .hint(_, let hint): "hint: \(hint.space) is at \(hint.head)"
        case .hintsEnded(let serial, _, _): "hints \(serial) ended"
        case .batchTaken(let batch): "batch of \(carried) taken, \(words(batch.outbox))"
        case .nothingToPush(let outbox): "nothing to push, \(words(outbox))"
        case .outboxCounted(let outbox): "outbox counted, \(words(outbox))"
        case .resultsRecorded(let outbox): "results recorded, \(words(outbox))"
        case .transactionWithdrawn(let outbox): "transaction withdrawn, \(words(outbox))"
        case .pageApplied(let space, .applied(let stored, let outbox, let count)):
            "page of \(space) applied, \(count) records, version \(stored.version), \(words(outbox))"
        case .pageApplied(let space, .braked(let deletes, let total)):
            "page of \(space) held back: it deletes \(deletes) of \(total)"
        case .cursorReset(let space): "cursor of \(space) reset"
        case .spaceVacated(let space, .vacated(let vacated)):
            "\(space) vacated, \(carried) records, \(words(vacated.outbox))"
        case .spaceVacated(let space, .braked(let deletes, let total)):
            "vacating \(space) held back: it deletes \(deletes) of \(total)"
        case .sessionChanged(let session): "identity or epoch changed, incarnation \(session.identity.incarnation)"
        case .storeFailed(let task, let failure): "store failed \(words(task)): \(failure.code.rawValue)"
        }
    }

    private static func words(_ link: LinkState) -> String {
        switch link {
        case .up: "link up"
        case .down: "link down"
        }
    }

    private static func words(_ outbox: OutboxSummary) -> String {
        "outbox \(outbox.waiting) waiting \(outbox.sent) sent \(outbox.answered) answered"
    }

    private static func words(_ failure: TransportFailure) -> String {
        failure.code.rawValue + (failure.retryAfter.map { ", retry after \(DurationWords.text($0)) s" } ?? "")
    }

    private static func words(_ refusal: PushRefusal) -> String {
        switch refusal {
        case .gap(let expected): "a gap, \(expected) expected"
        case .identityConflict(let number): "\(number) was seen with other contents"
        case .epochChanged(let epoch): "the epoch is \(epoch)"
        }
    }

    private static func words(_ task: StoreTask) -> String {
        switch task {
        case .countingOutbox: "counting the outbox"
        case .takingBatch: "taking a batch"
        case .recordingResults: "recording results"
        case .withdrawing: "withdrawing a transaction"
        case .applyingPage(let space): "applying a page of \(space)"
        case .resettingCursor(let space): "resetting the cursor of \(space)"
        case .vacatingSpace(let space): "vacating \(space)"
        case .adopting: "adopting an epoch"
        case .renewingIdentity: "renewing the identity"
        }
    }
}
