package import SyncModel

/// Sends the outbox, one batch at a time, so that no number is sent while an earlier one is uncertain (I3).
///
///     resting → taking → inFlight → recording → resting
///        ↑         │ failed  │ failed   │ failed
///        └─waiting ←─────────┴──────────┘
///     withdrawing: the server refuses the contents of one transaction; its number is sent once more with no contents
///     renewing: the identity is in conflict, or the server's confirmations are wrong; everything unconfirmed is sent
///               again under a new client id
///     Both end in resting, or in waiting if the store fails.
///
/// The outbox itself stays in the store. The machine knows the outbox's counts, and requests a batch when one can be
/// sent.
package struct OutboxMachine: Hashable, Sendable {
    package private(set) var state = State.resting
    package private(set) var summary = OutboxSummary()
    package private(set) var backoff = Backoff()
    /// The reduced limit after a batch was too large or too slow; nil means the policy's limit.
    package private(set) var shrunkLimit: BatchLimit?
    /// Number of times that the server has refused the identity since the last answered transaction.
    package private(set) var identityRefusals = 0
    /// Number of times that the server itself has refused the single transaction at the head of the outbox.
    package private(set) var refusals = 0
    /// Number of times in a row that the device had pulled everything, but lacked a transaction that the server had
    /// confirmed.
    package private(set) var wrongConfirmations = 0
    /// Number of pushes that lost the contact or were refused for their epoch, since the last recorded response or
    /// change of route. A timeout of a batch that is then split does not count.
    ///
    /// A successful hello or pull does not reset the number, because it says nothing about the next push.
    package private(set) var setbacks = 0

    /// Number of refusals after which a single transaction is withdrawn. It is more than one, because a server also
    /// refuses a request that was damaged in transit.
    static let refusalsBeforeWithdrawal = 3

    package enum State: Hashable, Sendable {
        case resting
        case taking
        case inFlight(request: Serial, deadline: ArmedTimer, push: PushInFlight)
        /// The spaces of the push's transactions, which may include some that were not answered.
        case recording(spaces: [SpaceID])
        case waiting(ArmedTimer, Obstacle)
        case withdrawing
        case renewing
    }

    /// Events that the session passes on, in addition to the actions.
    enum Report: Hashable, Sendable {
        /// The server has returned outcomes of transactions in these spaces, which can now be pulled.
        case answered(in: [SpaceID])
        case contactLost(TransportError)
        case epochDoubted
    }

    init() {}

    /// Creates a machine in a recorded state.
    package init(
        state: State, summary: OutboxSummary, backoff: Backoff, shrunkLimit: BatchLimit?, identityRefusals: Int,
        refusals: Int, wrongConfirmations: Int, setbacks: Int
    ) {
        self.setbacks = setbacks
        self.refusals = refusals
        self.wrongConfirmations = wrongConfirmations
        self.state = state
        self.summary = summary
        self.backoff = backoff
        self.shrunkLimit = shrunkLimit
        self.identityRefusals = identityRefusals
    }

    var isBusy: Bool {
        switch state {
        case .inFlight, .taking, .recording, .withdrawing, .renewing: true
        case .resting, .waiting: false
        }
    }

    // MARK: Events, in life-cycle order

    mutating func outboxChanged(_ summary: OutboxSummary) {
        // The count of answered transactions reaches zero when a pull shows them, which is progress, or when the
        // identity is renewed, which is not.
        if state != .renewing, self.summary.answered > 0, summary.answered == 0 { wrongConfirmations = 0 }
        self.summary = summary
    }

    /// Checks the server's confirmations. Called when a page was applied and the device now has everything in all
    /// spaces.
    ///
    /// If a transaction that the server has confirmed is missing, the confirmation was wrong. The transaction is sent
    /// again under a new identity that names the old one, so that it takes effect once.
    mutating func everythingIsShown(_ turn: inout Turn) -> [SyncAction] {
        guard case .resting = state, summary.answered > 0 else { return [] }
        wrongConfirmations += 1
        guard wrongConfirmations <= turn.policy.freeResets else {
            let reason =
                "the server confirms transactions, even under each new identity, but its change feed does not contain them"
            return wait(for: .identity(reason), &turn)
        }
        state = .renewing
        return [.store(.renewIdentity)]
    }

    /// Assumes that something waits, because a write happened and counting failed. The machine then requests a batch,
    /// which either shows the counts or fails and is requested again after a wait.
    mutating func countFailed() {
        summary.waiting = max(1, summary.waiting)
    }

    /// Takes the next batch when there is something to send and contact with a server.
    mutating func advance(to hello: ServerHello?, _ turn: inout Turn) -> [SyncAction] {
        guard case .resting = state, let hello, summary.hasUnanswered else { return [] }
        state = .taking
        let wanted = shrunkLimit ?? turn.policy.batch
        return [
            .store(
                .takeBatch(
                    BatchLimit(
                        transactions: max(1, min(wanted.transactions, hello.limits.pushTransactions)),
                        // Leave room for the envelope of the batch.
                        bytes: max(1, min(wanted.bytes, hello.limits.pushBytes / 2)), models: hello.models)))
        ]
    }

    /// Handles a store without a batch to send. The machine's counts were outdated: transactions that they called
    /// unanswered have been answered or held back since.
    mutating func nothingToPush(_ summary: OutboxSummary) {
        guard case .taking = state else { return }
        self.summary = summary
        // The store has nothing to send, even if its counts say otherwise. Asking again at once would cause a loop.
        self.summary.waiting = self.summary.held
        self.summary.sent = 0
        state = .resting
    }

    /// Clears the count of held transactions, because a server has listed the models that it knows. The next batch
    /// checks the transactions again.
    ///
    /// The count stays while a push is in progress: `resultsRecorded` compares the new count with it.
    mutating func contactMade() {
        if !isBusy { summary.held = 0 }
    }

    mutating func batchTaken(_ batch: PushBatch, hello: ServerHello?, _ turn: inout Turn) -> [SyncAction] {
        guard case .taking = state else { return [] }
        guard let hello else {
            summary = batch.outbox
            state = .resting
            return []
        }
        summary = batch.outbox
        let request = turn.makeSerial()
        var actions: [SyncAction] = [
            .server(
                .send(
                    request,
                    .push(
                        PushRequest(
                            identity: batch.identity, epoch: hello.epoch, account: hello.account,
                            cursors: batch.cursors, acknowledged: batch.acknowledged,
                            transactions: batch.transactions))))
        ]
        state = .inFlight(
            request: request, deadline: turn.arm(after: deadline(of: batch, turn.policy), &actions),
            push: PushInFlight(of: batch))
        return actions
    }

    /// Returns the time in which a push must be answered. A batch that is late is split, down to a single transaction.
    /// A single transaction gets extra time for its upload.
    private func deadline(of batch: PushBatch, _ policy: SyncPolicy) -> Duration {
        policy.requestDeadline + SyncPolicy.uploadTime(ofBytes: batch.loneBytes)
    }

    mutating func pushEnded(
        _ request: Serial, _ result: Result<PushResponse, TransportError>, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        guard case .inFlight(request, let deadline, let push) = state else { return ([], nil) }
        let disarm = SyncAction.timer(.disarm(deadline.serial))
        switch result {
        case .success(.answered(let results, _, let serverTime)):
            if let failure = push.fault(of: results) {
                return ([disarm] + wait(for: .transport(failure), &turn), nil)
            }
            state = .recording(spaces: push.spaces)
            return ([disarm, .store(.record(results, of: push.identity, serverTime: serverTime))], nil)
        case .success(.refused(.epochChanged)):
            let failure = TransportError(
                .notUnderstood,
                "the server refuses each push because its history has changed, even after the device has adopted the history in its hello"
            )
            return ([disarm] + rest(after: failure, &turn), .epochDoubted)
        case .success(.refused(.gap(let expected))):
            return (
                [disarm]
                    + renew(
                        because:
                            "the server is missing earlier transactions of this device (it expects number \(expected)) and refused each new identity",
                        &turn), nil
            )
        case .success(.refused(.identityConflict(let number))):
            return (
                [disarm]
                    + renew(
                        because:
                            "the server has seen transaction \(number) of this device with other contents and refused each new identity: another copy of this database may be syncing",
                        &turn), nil
            )
        case .failure(let failure):
            let (actions, report) = failed(failure, push, &turn)
            return ([disarm] + actions, report)
        }
    }

    mutating func resultsRecorded(
        _ summary: OutboxSummary, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        let givenBack = summary.held - self.summary.held
        self.summary = summary
        guard case .recording(let spaces) = state else { return ([], nil) }
        guard givenBack <= 0 else {
            // The server does not know names that its hello has listed, so it is one of several, or has become older.
            // Without a wait, the machine could send the same transactions again and again, without a pause.
            let failure = TransportError(
                .notUnderstood,
                "the server does not know a collection or field that it has named: it is being upgraded, or became older"
            )
            return (wait(for: .transport(failure), &turn), .answered(in: spaces))
        }
        state = .resting
        // If no transaction is answered, no confirmation is in doubt: a pull showed the effects before the response
        // came, or the server applied none of the transactions.
        if summary.answered == 0 { wrongConfirmations = 0 }
        // A push whose confirmations may be wrong again is not progress.
        if wrongConfirmations == 0 { backoff.reset() }
        identityRefusals = 0
        refusals = 0
        setbacks = 0
        shrunkLimit = shrunkLimit.flatMap { $0.increased(within: turn.policy.batch) }
        return ([], .answered(in: spaces))
    }

    mutating func transactionWithdrawn(_ summary: OutboxSummary) {
        self.summary = summary
        if case .withdrawing = state { state = .resting }
    }

    /// Handles a new identity or epoch in the store, after which unconfirmed transactions are sent again.
    ///
    /// A push in flight names the former epoch. It is abandoned, because the server would refuse it with
    /// `epochChanged`, and that response would look like yet another change of history.
    mutating func sessionChanged(_ session: StoredSession, isNewEpoch: Bool) -> [SyncAction] {
        summary = session.outbox
        switch state {
        case .renewing:
            state = .resting
            return []
        case .inFlight where isNewEpoch: return stop()
        case .resting, .taking, .inFlight, .recording, .waiting, .withdrawing: return []
        }
    }

    mutating func storeFailed(
        _ task: StoreTask.OutboxTask, _ failure: StoreError, _ turn: inout Turn
    ) -> [SyncAction] {
        switch (task, state) {
        case (.takingBatch, .taking), (.recordingResults, .recording), (.withdrawing, .withdrawing),
            (.renewingIdentity, .renewing):
            // Nothing is lost: the server remembers the outcomes, and the same numbers are sent again.
            wait(for: .store(failure), &turn)
        case (.takingBatch, _), (.recordingResults, _), (.withdrawing, _), (.renewingIdentity, _):
            []
        }
    }

    mutating func timerFired(_ timer: Serial, _ turn: inout Turn) -> (actions: [SyncAction], report: Report?) {
        switch state {
        case .inFlight(let request, let deadline, let push) where deadline.serial == timer:
            let failure = TransportError(.timedOut, "the server did not answer a push in time")
            let (actions, report) = failed(failure, push, &turn)
            return ([.server(.abandon(request))] + actions, report)
        case .waiting(let armed, let obstacle) where armed.serial == timer:
            if case .identity = obstacle {
                state = .renewing
                return ([.store(.renewIdentity)], nil)
            }
            state = .resting
            return ([], nil)
        case .resting, .taking, .inFlight, .recording, .waiting, .withdrawing, .renewing:
            return ([], nil)
        }
    }

    /// Ends a wait early, except a pause that the server asked for and the wait before another renewal of the identity.
    mutating func progressRequested() -> [SyncAction] {
        switch state {
        case .waiting(_, .transport(let failure)) where failure.asksForPause: return []
        case .waiting(_, .identity): return []
        case .waiting(let timer, _):
            state = .resting
            return [.timer(.disarm(timer.serial))]
        case .resting, .taking, .inFlight, .recording, .withdrawing, .renewing: return []
        }
    }

    /// Ends a wait early, because the old failures do not apply to a new route to the server. A pause that the server
    /// asked for stays.
    mutating func routeChanged() -> [SyncAction] {
        guard case .waiting(let timer, .transport(let failure)) = state, !failure.asksForPause else { return [] }
        backoff.reset()
        setbacks = 0
        state = .resting
        return [.timer(.disarm(timer.serial))]
    }

    /// Cancels the request or timer of the current state.
    mutating func stop() -> [SyncAction] {
        defer { state = .resting }
        return switch state {
        case .inFlight(let request, let deadline, _): [.server(.abandon(request)), .timer(.disarm(deadline.serial))]
        case .waiting(let timer, _): [.timer(.disarm(timer.serial))]
        case .resting, .taking, .recording, .withdrawing, .renewing: []
        }
    }

    // MARK: Transitions

    private mutating func failed(
        _ failure: TransportError, _ push: PushInFlight, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        switch failure.code {
        case .tooLarge where push.count > 1, .forbidden where failure.isDefinite && push.count > 1,
            .refused where failure.isDefinite && push.count > 1:
            // Nothing was applied. Either one transaction is at fault or there are too many; halving the batch shows
            // which.
            shrink(to: push.count / 2, turn.policy)
            state = .resting
            return ([], nil)
        case .tooLarge, .forbidden, .refused:
            // Either the server refuses even an empty transaction, or a proxy answered in the server's place. Neither
            // says anything about this transaction.
            guard failure.blamesRequest, !push.isEmptied, let first = push.first else {
                return (wait(for: .transport(failure), &turn), nil)
            }
            refusals += 1
            guard refusals >= Self.refusalsBeforeWithdrawal else { return (wait(for: .transport(failure), &turn), nil) }
            refusals = 0
            state = .withdrawing
            return ([.store(.withdraw(first, failure.rejection, of: push.identity))], nil)
        case .timedOut where push.count > 1:
            // A smaller batch may be answered in time, so only the link waits, not the outbox.
            shrink(to: push.count / 2, turn.policy)
            state = .resting
            return ([], .contactLost(failure))
        case .unreachable, .timedOut, .unauthorized, .otherAccount, .incompatible:
            return (rest(after: failure, &turn), .contactLost(failure))
        case .throttled, .serverFailed, .notUnderstood, .cancelled:
            return (wait(for: .transport(failure), &turn), nil)
        }
    }

    /// Ends a push whose failure puts the contact or the server's history in doubt.
    ///
    /// The link sends another hello, after its own wait. If the hello and a pull succeed, the link has no reason to
    /// wait longer the next time, so the outbox has a separate back-off, which a hello or a pull does not reset.
    private mutating func rest(after failure: TransportError, _ turn: inout Turn) -> [SyncAction] {
        setbacks += 1
        guard setbacks <= turn.policy.freeResets else { return wait(for: .transport(failure), &turn) }
        state = .resting
        return []
    }

    /// Whether the machine waits to send a refused transaction again, before it withdraws the transaction.
    var isRecovering: Bool {
        guard case .waiting(_, .transport(let failure)) = state else { return false }
        return refusals > 0 && failure.blamesRequest
    }

    private mutating func shrink(to transactions: Int, _ policy: SyncPolicy) {
        shrunkLimit = BatchLimit(transactions: max(1, transactions), bytes: policy.batch.bytes)
    }

    private mutating func renew(because reason: String, _ turn: inout Turn) -> [SyncAction] {
        identityRefusals += 1
        guard identityRefusals <= turn.policy.freeResets else { return wait(for: .identity(reason), &turn) }
        state = .renewing
        return [.store(.renewIdentity)]
    }

    private mutating func wait(for obstacle: Obstacle, _ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = []
        let delay = backoff.nextDelay(
            retryAfter: obstacle.retryAfter, policy: turn.policy.backoff, random: &turn.random)
        state = .waiting(turn.arm(after: delay, &actions), obstacle)
        return actions
    }
}
