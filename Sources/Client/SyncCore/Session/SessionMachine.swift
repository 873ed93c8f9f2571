package import SyncModel

/// The client's whole policy: an event goes in, orders come out. Holds no clock, no random source and no task.
///
/// It joins four machines: the link to the server, the outbox, one pull per space, and the hints. A push never waits
/// for a pull, nor a pull for a push; both wait for the link.
package struct SessionMachine: Hashable, Sendable {
    package private(set) var phase = Phase.notStarted
    package private(set) var link = LinkMachine()
    package private(set) var outbox = OutboxMachine()
    /// In the order of the spaces' names, and behind them those that were first used later: the order of actions must not
    /// depend on hashing.
    package private(set) var pulls: [PullMachine] = []
    package private(set) var hints = HintsMachine()
    package private(set) var epoch: Epoch?
    /// To whom the database belongs; nil before the first contact.
    package private(set) var account: AccountID?
    package private(set) var nextSerial = 0

    package enum Phase: Hashable, Sendable {
        case notStarted
        case running
        /// Requests on their way may still be answered, until the timer.
        case stopping(ArmedTimer)
        case finished
    }

    package init() {}

    /// A session that stands where a recording says.
    package init(
        phase: Phase, link: LinkMachine, outbox: OutboxMachine, pulls: [PullMachine], hints: HintsMachine,
        epoch: Epoch?, account: AccountID?, nextSerial: Int
    ) {
        self.phase = phase
        self.link = link
        self.outbox = outbox
        self.pulls = pulls
        self.hints = hints
        self.epoch = epoch
        self.account = account
        self.nextSerial = nextSerial
    }

    /// Takes one event and says what is to be done, in order.
    ///
    /// Never traps on a late, repeated or unexpected event: it is ignored.
    package mutating func handle(
        _ event: SyncEvent, now: Duration, policy: SyncPolicy, random: any RandomNumberGenerator
    ) -> [SyncAction] {
        var turn = Turn(now: now, policy: policy, random: random, nextSerial: nextSerial)
        defer { nextSerial = turn.serialAfter }
        switch phase {
        case .running where event == .aborted, .stopping where event == .aborted:
            return finish()
        case .notStarted:
            guard case .started(let session, let linkState) = event else { return [] }
            phase = .running
            adopt(session)
            return link.started(linkState, pause: session.pause, &turn)
        case .running:
            return run(event, &turn) + proceed(&turn) + notes(after: event, &turn)
        case .stopping(let deadline):
            if case .timerFired(deadline.serial) = event { return finish() }
            let actions = run(event, &turn)
            return isQuiet ? actions + [.disarm(deadline.serial)] + finish() : actions
        case .finished:
            return []
        }
    }

    // MARK: Events

    private mutating func run(_ event: SyncEvent, _ turn: inout Turn) -> [SyncAction] {
        switch event {
        case .started, .aborted: return []
        case .syncRequested: return progressRequested(&turn)
        case .credentialsChanged: return link.contactRequested(&turn)
        case .deletesAllowed(let space):
            let epoch = epoch
            return atPull(of: space) { $0.deletesAllowed(epoch: epoch) } ?? []
        case .stopRequested: return stopRequested(&turn)
        case .linkChanged(let state): return linkChanged(state, &turn)
        case .outboxTouched:
            // Counted when it is looked at: a count that was taken elsewhere may be from before what is known here.
            // Written back also while the device is offline for months, or the log would grow forever.
            return [.countOutbox, .checkpoint]
        case .outboxCounted(let summary):
            outbox.outboxChanged(summary)
            return []
        case .timerFired(let timer): return timerFired(timer, &turn)
        case .helloEnded(let request, let result): return helloEnded(request, result, &turn)
        case .pushEnded(let request, let result): return pushEnded(request, result, &turn)
        case .pullEnded(let request, let space, let result): return pullEnded(request, space, result, &turn)
        case .hint(let stream, let hint): return hinted(stream, hint, &turn)
        case .hintsEnded(let stream, _, let retryAfter): return hintsEnded(stream, retryAfter, &turn)
        case .batchTaken(let batch): return batchTaken(batch, &turn)
        case .nothingToPush(let summary):
            outbox.nothingToPush(summary)
            return []
        case .resultsRecorded(let summary): return resultsRecorded(summary, &turn)
        case .transactionWithdrawn(let summary):
            outbox.transactionWithdrawn(summary)
            return []
        case .pageApplied(let space, let result): return pageApplied(space, result, &turn)
        case .cursorReset(let space):
            let hello = contact
            return atPull(of: space) { $0.cursorReset(hello: hello, &turn) } ?? []
        case .spaceVacated(let space, let result): return spaceVacated(space, result, &turn)
        case .sessionChanged(let session): return sessionChanged(session, &turn)
        case .storeFailed(let task, let failure): return storeFailed(task, failure, &turn)
        }
    }

    private mutating func linkChanged(_ state: LinkState, _ turn: inout Turn) -> [SyncAction] {
        var actions = link.linkChanged(state, &turn)
        if case .down = state { actions += hints.contactLost() }
        return actions
    }

    private mutating func helloEnded(
        _ request: Serial, _ result: Result<ServerHello, TransportFailure>, _ turn: inout Turn
    ) -> [SyncAction] {
        let actions = link.helloEnded(request, result, account: account, &turn)
        guard let hello = link.hello, case .success(hello) = result, !actions.isEmpty else { return actions }
        // Another history: nothing is pushed or pulled before the store has noted it.
        if hello.epoch != epoch || account == nil { return actions + [.adopt(hello.epoch, hello.account)] }
        return actions + contactMade(&turn)
    }

    private mutating func contactMade(_ turn: inout Turn) -> [SyncAction] {
        outbox.contactMade()
        var actions = hints.contactMade(spaces: pulls.map(\.space), &turn)
        for index in pulls.indices { actions += pulls[index].wanted(by: .request, hello: contact, &turn) }
        return actions
    }

    private mutating func batchTaken(_ batch: PushBatch, _ turn: inout Turn) -> [SyncAction] {
        let known = pulls.count
        // The application may have begun to use a space. In the order of the transactions, which a recording keeps.
        for space in batch.transactions.map(\.transaction.space) where !pulls.contains(where: { $0.space == space }) {
            pulls.append(
                PullMachine(stored: StoredSpace(space: space, cursor: nil, version: .zero, isComplete: false)))
        }
        var actions: [SyncAction] = []
        if pulls.count > known {
            let wereOpen = hints.isOpen
            actions = hints.spacesAdded(pulls.map(\.space), &turn)
            if wereOpen { actions += hintsLost(&turn) }
        }
        return actions + outbox.batchTaken(batch, hello: link.hello, &turn)
    }

    private mutating func pushEnded(
        _ request: Serial, _ result: Result<PushReply, TransportFailure>, _ turn: inout Turn
    ) -> [SyncAction] {
        let (actions, news) = outbox.pushEnded(request, result, &turn)
        for case .record(let results, _, _) in actions {
            for receipt in results.compactMap(\.receipt) { atPull(of: receipt.space) { $0.confirmed(by: receipt) } }
        }
        return actions + respond(news, &turn)
    }

    private mutating func resultsRecorded(_ summary: OutboxSummary, _ turn: inout Turn) -> [SyncAction] {
        respond(outbox.resultsRecorded(summary, policy: turn.policy), &turn)
    }

    private mutating func pullEnded(
        _ request: Serial, _ space: SpaceID, _ result: Result<PullReply, TransportFailure>, _ turn: inout Turn
    ) -> [SyncAction] {
        let epoch = epoch
        guard let (actions, news) = atPull(of: space, { $0.pullEnded(request, result, epoch: epoch, &turn) })
        else { return [] }
        return actions + respond(news, &turn)
    }

    private mutating func pageApplied(_ space: SpaceID, _ result: ApplyResult, _ turn: inout Turn) -> [SyncAction] {
        let hello = contact
        let hintsAreOpen = hints.isOpen
        guard
            let (actions, news) = atPull(
                of: space, { $0.pageApplied(result, hello: hello, hintsAreOpen: hintsAreOpen, &turn) })
        else { return [] }
        return actions + respond(news, &turn)
    }

    private mutating func spaceVacated(
        _ space: SpaceID, _ result: VacateResult, _ turn: inout Turn
    ) -> [SyncAction] {
        let hello = contact
        guard
            let (actions, news) = atPull(of: space, { $0.vacated(result, hello: hello, &turn) })
        else { return [] }
        return actions + respond(news, &turn)
    }

    private mutating func hinted(_ stream: Serial, _ hint: Hint, _ turn: inout Turn) -> [SyncAction] {
        guard hints.heard(stream) else { return [] }
        let hello = contact
        return atPull(of: hint.space) { $0.wanted(by: .news(hint.head), hello: hello, &turn) } ?? []
    }

    private mutating func hintsEnded(
        _ stream: Serial, _ retryAfter: Duration?, _ turn: inout Turn
    ) -> [SyncAction] {
        let wereOpen = hints.isOpen
        let actions = hints.ended(stream, retryAfter: retryAfter, &turn)
        return wereOpen && !hints.isOpen ? actions + hintsLost(&turn) : actions
    }

    /// Polls are short until a stream has told something.
    private mutating func hintsLost(_ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = []
        for index in pulls.indices { actions += pulls[index].hintsLost(&turn) }
        return actions
    }

    private mutating func progressRequested(_ turn: inout Turn) -> [SyncAction] {
        var actions = link.contactRequested(&turn) + outbox.progressRequested() + lookForUpgrade(&turn)
        guard contact != nil else { return actions }
        for index in pulls.indices { actions += pulls[index].wanted(by: .request, hello: contact, &turn) }
        return actions
    }

    private mutating func timerFired(_ timer: Serial, _ turn: inout Turn) -> [SyncAction] {
        let isPoll = pulls.contains { $0.polls(at: timer) }
        var actions = link.timerFired(timer, &turn)
        let (pushActions, pushNews) = outbox.timerFired(timer, &turn)
        actions += pushActions + respond(pushNews, &turn)
        for index in pulls.indices {
            let (pullActions, pullNews) = pulls[index].timerFired(timer, hello: contact, &turn)
            actions += pullActions + respond(pullNews, &turn)
        }
        if isPoll { actions += lookForUpgrade(&turn) }
        return actions + hints.timerFired(timer, spaces: pulls.map(\.space), &turn)
    }

    /// While transactions are held back, a hello with each poll shows whether the server has been upgraded: a server that restarts
    /// between two requests is not noticed otherwise.
    private mutating func lookForUpgrade(_ turn: inout Turn) -> [SyncAction] {
        outbox.summary.held > 0 ? link.helloWanted(&turn) : []
    }

    private mutating func sessionChanged(_ session: StoredSession, _ turn: inout Turn) -> [SyncAction] {
        outbox.sessionChanged(session)
        let isNewEpoch = session.epoch != epoch
        let isFirstContact = account == nil
        epoch = session.epoch
        account = session.account
        var actions: [SyncAction] = []
        for stored in session.spaces {
            if isNewEpoch {
                actions += atPull(of: stored.space) { $0.sessionChanged(stored) } ?? []
            } else {
                _ = atPull(of: stored.space) { $0.identityChanged(stored) }
            }
        }
        // A device that only takes another incarnation has had contact all the time: pulls that wait go on waiting.
        guard contact != nil, isNewEpoch || isFirstContact else { return actions }
        return actions + contactMade(&turn)
    }

    private mutating func storeFailed(
        _ task: StoreTask, _ failure: StoreFailure, _ turn: inout Turn
    ) -> [SyncAction] {
        switch task {
        case .countingOutbox:
            outbox.countFailed()
            return []
        case .takingBatch, .recordingResults, .withdrawing, .renewingIdentity:
            return outbox.storeFailed(task, failure, &turn)
        case .applyingPage(let space), .resettingCursor(let space), .vacatingSpace(let space):
            return atPull(of: space) { $0.storeFailed(failure, &turn) } ?? []
        case .adopting:
            // The hello is repeated later, and with it the attempt.
            return link.contactLost(TransportFailure(.cancelled, failure.message), &turn) + hints.contactLost()
        }
    }

    private mutating func stopRequested(_ turn: inout Turn) -> [SyncAction] {
        // A second request to stop does not give more time.
        guard case .running = phase else { return [] }
        var actions = hints.contactLost()
        // Waits and polls end now; only what is on its way is waited for.
        if !outbox.isInFlight { actions += outbox.stop() }
        for index in pulls.indices where !pulls[index].isInFlight { actions += pulls[index].stop() }
        guard !isQuiet else { return actions + finish() }
        phase = .stopping(turn.arm(after: turn.policy.stopDeadline, &actions))
        return actions
    }

    // MARK: Moves

    /// Contact, with a history and as an account that the store has noted.
    private var contact: ServerHello? {
        guard case .running = phase, let hello = link.hello, hello.epoch == epoch, hello.account == account
        else { return nil }
        return hello
    }

    private var isQuiet: Bool {
        !outbox.isInFlight && !pulls.contains(where: \.isInFlight)
    }

    /// After every event: is there something to send, and someone to send it to?
    private mutating func proceed(_ turn: inout Turn) -> [SyncAction] {
        outbox.advance(to: contact, &turn)
    }

    /// Returns the notes about this event for later runs and other programs.
    private func notes(after event: SyncEvent, _ turn: inout Turn) -> [SyncAction] {
        switch event {
        case .helloEnded(_, .failure(let failure)), .pushEnded(_, .failure(let failure)),
            .pullEnded(_, _, .failure(let failure)):
            guard failure.code != .cancelled else { return [] }
            var actions = [SyncAction.note(.failed(code: failure.code.rawValue, message: failure.message))]
            if failure.asksForPause, let pause = failure.retryAfter {
                actions.append(.note(.paused(min(pause, turn.policy.backoff.longestRetryAfter))))
            }
            return actions
        case .helloEnded(_, .success):
            guard case .refused(_, let failure) = link.state else { return [] }
            return [.note(.failed(code: failure.code.rawValue, message: failure.message))]
        case .storeFailed(_, let failure):
            return [.note(.failed(code: failure.code.rawValue, message: failure.message))]
        case .pageApplied(let space, .braked(let deletes, let total)),
            .spaceVacated(let space, .braked(let deletes, let total)):
            let message =
                "the server's data of \(space) would delete \(deletes) of the \(total) records here, and nothing proves that it is right: a person has to agree"
            return [.note(.failed(code: "braked", message: message))]
        case .pageApplied, .spaceVacated, .resultsRecorded, .transactionWithdrawn:
            // Results may come after the page that shows them: then no page follows that could tell.
            return contact != nil && outbox.summary.count == 0 && pulls.allSatisfy(\.isInSync) ? [.note(.inSync)] : []
        case .pullEnded(_, let space, .success):
            guard let pull = pulls.first(where: { $0.space == space }), case .waiting(_, let obstacle) = pull.state
            else { return [] }
            return [.note(.failed(code: obstacle.code, message: obstacle.words))]
        case .started, .syncRequested, .credentialsChanged, .deletesAllowed, .stopRequested, .aborted, .linkChanged,
            .outboxTouched, .outboxCounted, .timerFired, .pushEnded, .hint, .hintsEnded, .batchTaken, .nothingToPush,
            .cursorReset, .sessionChanged:
            return []
        }
    }

    private mutating func respond(_ news: OutboxMachine.News?, _ turn: inout Turn) -> [SyncAction] {
        switch news {
        case nil: return []
        case .answered(let spaces):
            link.exchangeSucceeded()
            var actions: [SyncAction] = []
            for index in pulls.indices where spaces.contains(pulls[index].space) {
                actions += pulls[index].wanted(by: .answer, hello: contact, &turn)
            }
            return actions
        case .contactLost(let failure): return link.contactLost(failure, &turn) + hints.contactLost()
        case .epochDoubted: return link.epochDoubted(&turn)
        }
    }

    private mutating func respond(_ news: PullMachine.News?, _ turn: inout Turn) -> [SyncAction] {
        switch news {
        case nil: return []
        case .progressed(let summary):
            link.exchangeSucceeded()
            outbox.outboxChanged(summary)
            return pulls.allSatisfy(\.showsAll) ? outbox.everythingIsShown(&turn) : []
        case .contactLost(let failure): return link.contactLost(failure, &turn) + hints.contactLost()
        case .epochDoubted: return link.epochDoubted(&turn)
        }
    }

    private mutating func adopt(_ session: StoredSession) {
        epoch = session.epoch
        account = session.account
        outbox.outboxChanged(session.outbox)
        pulls = session.spaces.map(PullMachine.init(stored:))
    }

    private mutating func finish() -> [SyncAction] {
        phase = .finished
        var actions = outbox.stop()
        for index in pulls.indices { actions += pulls[index].stop() }
        return actions + hints.contactLost() + link.stop() + [.finish]
    }

    @discardableResult
    private mutating func atPull<Result>(of space: SpaceID, _ body: (inout PullMachine) -> Result) -> Result? {
        guard let index = pulls.firstIndex(where: { $0.space == space }) else { return nil }
        return body(&pulls[index])
    }
}
