package import SyncCore
import SyncModel

extension Redaction {
    package func event(_ event: SyncEvent) -> SyncEvent {
        switch event {
        case .started(let stored, let state): .started(session(stored), link(state))
        case .syncRequested, .credentialsChanged, .stopRequested, .aborted, .outboxTouched, .timerFired, .nothingToPush,
            .outboxCounted, .resultsRecorded, .transactionWithdrawn:
            event
        case .deletesAllowed(let name): .deletesAllowed(space(name))
        case .linkChanged(let state): .linkChanged(link(state))
        case .helloEnded(let serial, let result): .helloEnded(serial, result.map(hello).mapError(failure))
        case .pushEnded(let serial, let result): .pushEnded(serial, result.map(reply).mapError(failure))
        case .pullEnded(let serial, let name, let result):
            .pullEnded(serial, space(name), result.map(reply).mapError(failure))
        case .hint(let serial, let hint): .hint(serial, Hint(space: space(hint.space), head: hint.head))
        case .hintsEnded(let serial, _, let retryAfter): .hintsEnded(serial, "", retryAfter: retryAfter)
        case .batchTaken(let taken): .batchTaken(batch(taken))
        case .pageApplied(let name, let result): .pageApplied(space(name), applied(result))
        case .cursorReset(let name): .cursorReset(space(name))
        case .spaceVacated(let name, let result): .spaceVacated(space(name), vacated(result))
        case .sessionChanged(let stored): .sessionChanged(session(stored))
        case .storeFailed(let failed, let reason): .storeFailed(task(failed), failure(reason))
        }
    }

    package func action(_ action: SyncAction) -> SyncAction {
        switch action {
        case .takeBatch(let limit): .takeBatch(BatchLimit(transactions: limit.transactions, bytes: limit.bytes))
        case .sendHello, .closeHints, .abandon, .countOutbox, .renewIdentity, .checkpoint, .arm, .disarm,
            .finish:
            action
        case .push(let serial, let request):
            .push(
                serial,
                PushRequest(
                    identity: identity(request.identity), epoch: request.epoch.map(epoch),
                    account: request.account.map(account), cursors: request.cursors.map { cursor($0) ?? $0 },
                    acknowledged: request.acknowledged,
                    transactions: request.transactions.map(transaction)))
        case .pull(let serial, let request):
            .pull(
                serial,
                PullRequest(
                    space: space(request.space), cursor: cursor(request.cursor), receipt: cursor(request.receipt),
                    limit: request.limit,
                    account: request.account.map(account)))
        case .openHints(let serial, let names): .openHints(serial, names.map(space))
        case .record(let results, let sender, let time):
            .record(results.map(result), of: identity(sender), serverTime: time)
        case .apply(let answer, let asked, let brake): .apply(page(answer), after: cursor(asked), brake: brake)
        case .note(.failed(let code, _)): .note(.failed(code: code, message: ""))
        case .note: action
        case .withdraw(let number, let rejection, let sender):
            .withdraw(number, Self.rejection(rejection.code.rawValue), of: identity(sender))
        case .resetCursor(let name): .resetCursor(space(name))
        case .vacate(let name, let history, let brake): .vacate(space(name), of: epoch(history), brake: brake)
        case .adopt(let history, let owner): .adopt(epoch(history), account(owner))
        }
    }

    package func session(_ session: SessionMachine) -> SessionMachine {
        SessionMachine(
            phase: session.phase, link: link(session.link), outbox: outbox(session.outbox),
            pulls: session.pulls.map(pull), hints: session.hints, epoch: session.epoch.map(epoch),
            account: session.account.map(account), nextSerial: session.nextSerial)
    }

    private func link(_ link: LinkMachine) -> LinkMachine {
        let state: LinkMachine.State =
            switch link.state {
            case .down: .down("")
            case .awaitingHello: link.state
            case .online(let answer): .online(hello(answer))
            case .waiting(let timer, let reason): .waiting(timer, failure(reason))
            case .storeFailed(let timer, let reason): .storeFailed(timer, failure(reason))
            case .refused(let timer, let reason): .refused(timer, failure(reason))
            }
        return LinkMachine(state: state, backoff: link.backoff, doubts: link.doubts)
    }

    private func outbox(_ outbox: OutboxMachine) -> OutboxMachine {
        let state: OutboxMachine.State =
            switch outbox.state {
            case .resting, .taking, .withdrawing, .renewing: outbox.state
            case .inFlight(let request, let deadline, let sent):
                .inFlight(request: request, deadline: deadline, load: load(sent))
            case .recording(let names): .recording(spaces: names.map(space).sorted())
            case .waiting(let timer, .transport(let reason)): .waiting(timer, .transport(failure(reason)))
            case .waiting(let timer, .store(let reason)): .waiting(timer, .store(failure(reason)))
            case .waiting(let timer, .identity): .waiting(timer, .identity(""))
            }
        return OutboxMachine(
            state: state, summary: outbox.summary, backoff: outbox.backoff, shrunkLimit: outbox.shrunkLimit,
            renewals: outbox.renewals, refusals: outbox.refusals, doubts: outbox.doubts)
    }

    private func load(_ load: OutboxMachine.Load) -> OutboxMachine.Load {
        OutboxMachine.Load(
            identity: identity(load.identity), count: load.count, first: load.first,
            spaces: load.spaces.map(space).sorted(), isWithdrawal: load.isWithdrawal)
    }

    private func pull(_ pull: PullMachine) -> PullMachine {
        let state: PullMachine.State =
            switch pull.state {
            case .resting, .resetting, .vacating, .waiting(_, .reset), .waiting(_, .historyInDoubt):
                pull.state
            case .pulling(let request, let deadline, let from, let then):
                .pulling(request: request, deadline: deadline, cursor: cursor(from), then: then)
            case .applying(let answer, let then): .applying(page(answer), then: then)
            case .waiting(let timer, .transport(let reason)): .waiting(timer, .transport(failure(reason)))
            case .waiting(let timer, .store(let reason)): .waiting(timer, .store(failure(reason)))
            case .waiting(let timer, .contradiction): .waiting(timer, .contradiction(""))
            case .braked(let answer, let deletes, let total, let poll):
                .braked(answer.map(page), deletes: deletes, of: total, poll: poll)
            }
        return PullMachine(
            state: state, stored: stored(pull.stored), head: pull.head, hasCaughtUp: pull.hasCaughtUp,
            backoff: pull.backoff, resets: pull.resets, contradictions: pull.contradictions,
            trail: pull.trail.map { CursorTrail(mark: cursor($0.mark) ?? $0.mark, steps: $0.steps, reach: $0.reach) },
            shrunkPage: pull.shrunkPage, stretch: pull.stretch, asked: pull.asked, consent: pull.consent)
    }
}

extension SyncEvent {
    /// The number of records or transactions that the event carries.
    package var carried: Int {
        switch self {
        case .batchTaken(let batch): return batch.transactions.count
        case .pushEnded(_, .success(.answered(let results, _, _))): return results.count
        case .pullEnded(_, _, .success(.page(let page))):
            switch page.content {
            case .snapshot(let rows, _, _): return rows.reduce(0) { $0 + $1.records.count }
            case .commits(let commits): return commits.reduce(0) { $0 + $1.changes.count }
            }
        case .pageApplied(_, .applied(_, _, let count)): return count
        case .spaceVacated(_, .vacated(let vacated)): return vacated.removedRecords
        case .started, .syncRequested, .credentialsChanged, .deletesAllowed, .stopRequested, .aborted, .linkChanged,
            .outboxTouched, .outboxCounted, .timerFired, .helloEnded, .pushEnded, .pullEnded, .hint, .hintsEnded,
            .nothingToPush, .resultsRecorded, .transactionWithdrawn, .pageApplied, .cursorReset, .spaceVacated,
            .sessionChanged, .storeFailed:
            return 0
        }
    }
}
