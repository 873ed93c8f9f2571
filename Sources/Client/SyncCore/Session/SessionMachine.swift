package import SyncModel

/// The complete policy of the client: events go in, actions come out.
///
/// It holds no clock, no random source, and no task. It combines four kinds of machine: the link to the server, the
/// outbox, one pull per space, and the hints. A push never waits for a pull, nor a pull for a push; both wait for the
/// link.
package struct SessionMachine: Hashable, Sendable {
    package private(set) var phase = Phase.notStarted
    package private(set) var link = LinkMachine()
    package private(set) var outbox = OutboxMachine()
    /// In a fixed order, because the order of actions must not depend on hashing: sorted by name at the start; spaces
    /// that come later are appended.
    package private(set) var pulls: [PullMachine] = []
    package private(set) var hints = HintsMachine()
    package private(set) var epoch: Epoch?
    /// The account of the database; nil before the first contact.
    package private(set) var account: AccountID?
    package private(set) var nextSerial = 0

    package enum Phase: Hashable, Sendable {
        case notStarted
        case running
        /// Requests in flight may still be answered until the timer fires.
        case stopping(ArmedTimer)
        case finished
    }

    package init() {}

    /// Creates a session in a recorded state.
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

    /// Handles one event and returns the actions to carry out, in order.
    ///
    /// It never traps on a late, repeated, or unexpected event: such an event is ignored.
    package mutating func handle(
        _ event: SyncEvent, now: Duration, policy: SyncPolicy, random: any RandomNumberGenerator
    ) -> [SyncAction] {
        var turn = Turn(now: now, policy: policy, random: random, nextSerial: nextSerial)
        defer { nextSerial = turn.serialAfter }
        switch phase {
        case .running where event == .host(.aborted), .stopping where event == .host(.aborted):
            return finish()
        case .notStarted:
            guard case .host(.started(let session, let linkState)) = event else { return [] }
            phase = .running
            adopt(session)
            return link.started(linkState, pause: session.pause, &turn)
        case .running:
            return run(event, &turn) + outbox.advance(to: contact, &turn) + notes(after: event, turn)
        case .stopping(let deadline):
            if case .device(.timerFired(deadline.serial)) = event { return finish() }
            let actions = run(event, &turn)
            return isQuiet ? actions + [.timer(.disarm(deadline.serial))] + finish() : actions
        case .finished:
            return []
        }
    }

    // MARK: Events

    private mutating func run(_ event: SyncEvent, _ turn: inout Turn) -> [SyncAction] {
        switch event {
        case .host(let event): run(event, &turn)
        case .device(let event): run(event, &turn)
        case .server(let event): run(event, &turn)
        case .store(let event): run(event, &turn)
        }
    }

    private mutating func run(_ event: HostEvent, _ turn: inout Turn) -> [SyncAction] {
        switch event {
        case .started, .aborted: return []
        case .syncRequested: return progressRequested(&turn)
        case .credentialsChanged:
            return link.credentialsChanged(&turn) + endPullWaits()
        case .deletesAllowed(let space):
            let epoch = epoch
            return atPull(of: space) { $0.deletesAllowed(epoch: epoch) } ?? []
        case .stopRequested: return stopRequested(&turn)
        }
    }

    private mutating func run(_ event: DeviceEvent, _ turn: inout Turn) -> [SyncAction] {
        switch event {
        case .linkChanged(let state): linkChanged(state, &turn)
        case .outboxTouched:
            // Count now, because a count that came with the notification may be out of date. Checkpoint even while the
            // device is offline for months: without checkpoints, the WAL grows without bound.
            [.store(.countOutbox), .checkpoint]
        case .spacesTouched: [.store(.readSpaces)]
        case .timerFired(let timer): timerFired(timer, &turn)
        }
    }

    private mutating func run(_ event: ServerEvent, _ turn: inout Turn) -> [SyncAction] {
        switch event {
        case .helloEnded(let request, let result): helloEnded(request, result, &turn)
        case .pushEnded(let request, let result): pushEnded(request, result, &turn)
        case .pullEnded(let request, let space, let result): pullEnded(request, space, result, &turn)
        case .hint(let stream, let hint): hinted(stream, hint, &turn)
        case .hintsEnded(let stream, let retryAfter): hintsEnded(stream, retryAfter, &turn)
        }
    }

    private mutating func run(_ event: StoreEvent, _ turn: inout Turn) -> [SyncAction] {
        switch event {
        case .outboxCounted(let summary):
            outbox.outboxChanged(summary)
            return []
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
        case .spacesRead(let spaces): return spacesRead(spaces, &turn)
        case .sessionChanged(let session): return sessionChanged(session, &turn)
        case .failed(let task, let failure): return storeFailed(task, failure, &turn)
        }
    }

    private mutating func linkChanged(_ state: LinkState, _ turn: inout Turn) -> [SyncAction] {
        var actions = link.linkChanged(state, &turn)
        switch state {
        case .down: actions += hints.contactLost()
        case .up where !actions.isEmpty:
            actions += outbox.routeChanged() + endPullWaits()
        case .up: break
        }
        return actions
    }

    private mutating func helloEnded(
        _ request: Serial, _ result: Result<ServerHello, TransportError>, _ turn: inout Turn
    ) -> [SyncAction] {
        let actions = link.helloEnded(request, result, account: hasExchanged ? account : nil, &turn)
        guard let hello = link.hello, case .success(hello) = result, !actions.isEmpty else { return actions }
        // The store does not have the server's history or account yet. Record them before anything is pushed or pulled.
        if hello.epoch != epoch || hello.account != account {
            return actions + [.store(.adopt(hello.epoch, hello.account))]
        }
        return actions + contactMade(&turn)
    }

    private mutating func contactMade(_ turn: inout Turn) -> [SyncAction] {
        outbox.contactMade()
        var actions = hints.contactMade(spaces: pulls.map(\.space), &turn)
        for index in pulls.indices { actions += pulls[index].requested(by: .contact, hello: contact, &turn) }
        return actions
    }

    private mutating func batchTaken(_ batch: PushBatch, _ turn: inout Turn) -> [SyncAction] {
        let known = pulls.map(\.space)
        // The application may have begun to use new spaces. Add them in the order of their transactions, which a
        // recording preserves.
        for space in batch.transactions.map(\.transaction.space) where !pulls.contains(where: { $0.space == space }) {
            pulls.append(
                PullMachine(stored: StoredSpace(space: space, cursor: nil, version: .zero, isComplete: false)))
        }
        return updateHints(from: known, &turn) + outbox.batchTaken(batch, hello: link.hello, &turn)
    }

    /// Handles a change of the spaces that the device follows, by this process or another.
    private mutating func spacesRead(_ spaces: [StoredSpace], _ turn: inout Turn) -> [SyncAction] {
        let known = pulls.map(\.space)
        var actions: [SyncAction] = []
        for index in pulls.indices.reversed() {
            let stored = spaces.first { $0.space == pulls[index].space }
            // If only the store has lost the cursor, the device has stopped following the space and follows it again.
            // Its records were removed, so the pull starts over.
            if let stored, stored.cursor != nil || pulls[index].stored.cursor == nil { continue }
            actions += pulls[index].stop()
            pulls.remove(at: index)
        }
        for stored in spaces where !pulls.contains(where: { $0.space == stored.space }) {
            var pull = PullMachine(stored: stored)
            actions += pull.requested(by: .request, hello: contact, &turn)
            pulls.append(pull)
        }
        return actions + updateHints(from: known, &turn)
    }

    /// Opens a new stream of hints if the spaces have changed, and polls at the short interval until the stream has
    /// delivered a hint.
    private mutating func updateHints(from known: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        let spaces = pulls.map(\.space)
        guard spaces != known else { return [] }
        let wereOpen = hints.isOpen
        let actions = hints.spacesChanged(to: spaces, &turn)
        return wereOpen ? actions + pollSooner(&turn) : actions
    }

    private mutating func pushEnded(
        _ request: Serial, _ result: Result<PushResponse, TransportError>, _ turn: inout Turn
    ) -> [SyncAction] {
        let (actions, report) = outbox.pushEnded(request, result, &turn)
        for case .store(.record(let results, _, _)) in actions {
            for receipt in results.compactMap(\.receipt) { atPull(of: receipt.space) { $0.confirmed(by: receipt) } }
        }
        return actions + respond(report, &turn)
    }

    private mutating func resultsRecorded(_ summary: OutboxSummary, _ turn: inout Turn) -> [SyncAction] {
        let (actions, report) = outbox.resultsRecorded(summary, &turn)
        return actions + respond(report, &turn)
    }

    private mutating func pullEnded(
        _ request: Serial, _ space: SpaceID, _ result: Result<PullResponse, TransportError>, _ turn: inout Turn
    ) -> [SyncAction] {
        let epoch = epoch
        guard let (actions, report) = atPull(of: space, { $0.pullEnded(request, result, epoch: epoch, &turn) })
        else { return [] }
        return actions + respond(report, &turn)
    }

    private mutating func pageApplied(_ space: SpaceID, _ result: ApplyResult, _ turn: inout Turn) -> [SyncAction] {
        let hello = contact
        let hintsAreOpen = hints.isOpen
        guard
            let (actions, report) = atPull(
                of: space, { $0.pageApplied(result, hello: hello, hintsAreOpen: hintsAreOpen, &turn) })
        else { return [] }
        return actions + respond(report, &turn)
    }

    private mutating func spaceVacated(
        _ space: SpaceID, _ result: VacateResult, _ turn: inout Turn
    ) -> [SyncAction] {
        let hello = contact
        guard
            let (actions, report) = atPull(of: space, { $0.vacated(result, hello: hello, &turn) })
        else { return [] }
        return actions + respond(report, &turn)
    }

    private mutating func hinted(_ stream: Serial, _ hint: Hint, _ turn: inout Turn) -> [SyncAction] {
        let isOpenAgain = hints.hasEnded
        guard hints.hintReceived(stream, now: turn.now) else { return [] }
        let hello = contact
        let actions = atPull(of: hint.space) { $0.requested(by: .hint(hint.head), hello: hello, &turn) } ?? []
        return isOpenAgain ? actions + checkForUpgrade(&turn) : actions
    }

    private mutating func hintsEnded(
        _ stream: Serial, _ retryAfter: Duration?, _ turn: inout Turn
    ) -> [SyncAction] {
        let wereOpen = hints.isOpen
        let actions = hints.ended(stream, retryAfter: retryAfter, &turn)
        if wereOpen && !hints.isOpen { return actions + pollSooner(&turn) }
        // A server that asks for a pause is there.
        guard retryAfter == nil, !actions.isEmpty, hints.hasFailedTwice else { return actions }
        return actions + checkContact(&turn)
    }

    /// Pulls one space now, because the server may be gone. If it is, the pull fails, and the status says so long
    /// before the next poll.
    private mutating func checkContact(_ turn: inout Turn) -> [SyncAction] {
        guard let index = pulls.firstIndex(where: \.isResting) else { return [] }
        return pulls[index].requested(by: .contact, hello: contact, &turn)
    }

    /// Polls at the short interval until a new stream of hints has delivered one.
    private mutating func pollSooner(_ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = []
        for index in pulls.indices { actions += pulls[index].pollSooner(&turn) }
        return actions
    }

    private mutating func progressRequested(_ turn: inout Turn) -> [SyncAction] {
        var actions = link.contactRequested(&turn) + outbox.progressRequested() + checkForUpgrade(&turn)
        guard contact != nil else { return actions }
        for index in pulls.indices { actions += pulls[index].requested(by: .request, hello: contact, &turn) }
        return actions
    }

    private mutating func timerFired(_ timer: Serial, _ turn: inout Turn) -> [SyncAction] {
        let isPoll = pulls.contains { $0.polls(at: timer) }
        var actions = link.timerFired(timer, &turn)
        let (pushActions, pushReport) = outbox.timerFired(timer, &turn)
        actions += pushActions + respond(pushReport, &turn)
        for index in pulls.indices {
            let (pullActions, pullReport) = pulls[index].timerFired(timer, hello: contact, &turn)
            actions += pullActions + respond(pullReport, &turn)
        }
        if isPoll { actions += checkForUpgrade(&turn) }
        return actions + hints.timerFired(timer, spaces: pulls.map(\.space), &turn)
    }

    /// Sends a hello if transactions are held back, to learn whether the server has been upgraded.
    ///
    /// Called with each poll and each requested sync, and whenever the stream of hints is open again after it has
    /// ended. Nothing else shows an upgrade: a server that restarts between two requests breaks no connection.
    private mutating func checkForUpgrade(_ turn: inout Turn) -> [SyncAction] {
        outbox.summary.held > 0 ? link.helloRequested(&turn) : []
    }

    private mutating func sessionChanged(_ session: StoredSession, _ turn: inout Turn) -> [SyncAction] {
        let isNewEpoch = session.epoch != epoch
        let isOtherAccount = account != session.account
        epoch = session.epoch
        account = session.account
        var actions = outbox.sessionChanged(session, isNewEpoch: isNewEpoch)
        for stored in session.spaces {
            if isNewEpoch {
                actions += atPull(of: stored.space) { $0.sessionChanged(stored) } ?? []
            } else {
                _ = atPull(of: stored.space) { $0.identityChanged(stored) }
            }
        }
        // A new identity alone does not interrupt the contact, so waiting pulls keep waiting.
        guard contact != nil, isNewEpoch || isOtherAccount else { return actions }
        return actions + contactMade(&turn)
    }

    private mutating func storeFailed(
        _ task: StoreTask, _ failure: StoreError, _ turn: inout Turn
    ) -> [SyncAction] {
        switch task {
        case .session(.countingOutbox):
            outbox.countFailed()
            return []
        case .session(.readingSpaces):
            // The session keeps its list of spaces until the next change of the spaces or the next start.
            return []
        case .outbox(let task):
            return outbox.storeFailed(task, failure, &turn)
        case .space(let space, let task):
            return atPull(of: space) { $0.storeFailed(task, failure, &turn) } ?? []
        case .session(.adopting):
            // The link sends another hello later, and the session then tries the adoption again.
            return link.adoptionFailed(failure, &turn) + hints.contactLost()
        }
    }

    private mutating func stopRequested(_ turn: inout Turn) -> [SyncAction] {
        // A second request to stop does not grant more time.
        guard case .running = phase else { return [] }
        var actions = hints.contactLost()
        // Waits and polls end now. Only pushes and pulls in flight may finish.
        if !outbox.isBusy { actions += outbox.stop() }
        for index in pulls.indices where !pulls[index].isBusy { actions += pulls[index].stop() }
        guard !isQuiet else { return actions + finish() }
        phase = .stopping(turn.arm(after: turn.policy.stopDeadline, &actions))
        return actions
    }

    // MARK: Transitions

    /// The server's hello, if there is contact and the store has recorded the server's history and the account.
    var contact: ServerHello? {
        guard case .running = phase, let hello = link.hello, hello.epoch == epoch, hello.account == account
        else { return nil }
        return hello
    }

    /// Whether this session knows that something was, or may soon be, exchanged with a server. Until then, another
    /// account may take the database: a hello alone transfers nothing, and its answer may have been forged, or the
    /// token wrong. The store decides.
    ///
    /// A page that is on its way belongs to the account that has requested it, so that account stays until the page is
    /// applied.
    private var hasExchanged: Bool {
        !isQuiet || outbox.summary.sent + outbox.summary.answered > 0
            || pulls.contains { $0.stored.cursor != nil || $0.stored.version > .zero }
    }

    private var isQuiet: Bool {
        !outbox.isBusy && !pulls.contains(where: \.isBusy)
    }

    private mutating func respond(_ report: OutboxMachine.Report?, _ turn: inout Turn) -> [SyncAction] {
        switch report {
        case nil: return []
        case .answered(let spaces):
            link.exchangeSucceeded(isInSync: false, policy: turn.policy)
            var actions: [SyncAction] = []
            for index in pulls.indices where spaces.contains(pulls[index].space) {
                actions += pulls[index].requested(by: .response, hello: contact, &turn)
            }
            return actions
        case .contactLost(let failure): return link.contactLost(failure, &turn) + hints.contactLost()
        case .epochDoubted: return link.epochDoubted(&turn)
        }
    }

    private mutating func respond(_ report: PullMachine.Report?, _ turn: inout Turn) -> [SyncAction] {
        switch report {
        case nil: return []
        case .progressed(let summary):
            link.exchangeSucceeded(isInSync: pulls.allSatisfy(\.isInSync), policy: turn.policy)
            outbox.outboxChanged(summary)
            return pulls.allSatisfy(\.hasEverything) ? outbox.everythingIsShown(&turn) : []
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

    /// Ends the waits of pulls that have lost the contact, because it may last now.
    private mutating func endPullWaits() -> [SyncAction] {
        pulls.indices.flatMap { pulls[$0].routeChanged() }
    }

    @discardableResult
    private mutating func atPull<Result>(of space: SpaceID, _ body: (inout PullMachine) -> Result) -> Result? {
        guard let index = pulls.firstIndex(where: { $0.space == space }) else { return nil }
        return body(&pulls[index])
    }
}
