package import SyncModel

/// Keeps one space in sync with the server.
///
///     resting → pulling → applying → resting | pulling (more pages, or a hint arrived meanwhile)
///        ↑         │ failed    │ failed
///        └─waiting ←───────────┘
///     resetting: the cursor is no longer valid; the next pull starts a snapshot
///     vacating: the account may not read the space; its shown data is removed, and a long rest follows
///     braked: a snapshot would delete many records, or the loss of access records that this server has never shown;
///             the machine waits for a person's consent, and polls the server, whose next response may need no consent
package struct PullMachine: Hashable, Sendable {
    package let space: SpaceID
    package private(set) var state = State.resting(poll: nil)
    package private(set) var stored: StoredSpace
    /// The newest version of the server that a page has named.
    package private(set) var head: Version
    /// Whether a pull has caught up since the engine started or the epoch changed. False while the space is being
    /// vacated.
    package private(set) var hasCaughtUp = false
    package private(set) var backoff = Backoff()
    /// Number of resets of the cursor that the server has demanded since a pull last caught up.
    package private(set) var resets = 0
    /// Whether the server has called the cursor one of another history since the device last made progress.
    package private(set) var doubtsEpoch = false
    /// Number of pages that contradicted themselves or the stored data since a pull last caught up.
    package private(set) var contradictions = 0
    /// Remembers a cursor of the current run of pages. If the server returns to that cursor, the pages form a cycle.
    package private(set) var trail: CursorTrail?
    /// The counts of the pages since the device had last caught up.
    package private(set) var run = PullRun()
    package private(set) var pace = PullPace()
    package private(set) var consent = DeleteConsent()
    package private(set) var hinted = HintedVersions()

    init(stored: StoredSpace) {
        space = stored.space
        self.stored = stored
        head = stored.version
    }

    /// Creates a machine in a recorded state.
    package init(
        state: State, stored: StoredSpace, head: Version, hasCaughtUp: Bool, backoff: Backoff, resets: Int,
        doubtsEpoch: Bool = false, contradictions: Int, trail: CursorTrail?, run: PullRun = PullRun(), pace: PullPace,
        consent: DeleteConsent, hinted: HintedVersions = HintedVersions()
    ) {
        self.hinted = hinted
        self.run = run
        self.pace = pace
        self.consent = consent
        self.contradictions = contradictions
        self.trail = trail
        space = stored.space
        self.state = state
        self.stored = stored
        self.head = head
        self.hasCaughtUp = hasCaughtUp
        self.backoff = backoff
        self.resets = resets
        self.doubtsEpoch = doubtsEpoch
    }

    package enum State: Hashable, Sendable {
        case resting(poll: ArmedTimer?)
        case pulling(request: Serial, deadline: ArmedTimer, cursor: Cursor?, then: FollowUp)
        case applying(PullPage, then: FollowUp)
        case resetting(then: FollowUp)
        case vacating(then: FollowUp)
        case waiting(ArmedTimer, Obstacle)
        /// Waits for consent. The page is nil when the operation is to vacate the space.
        case braked(PullPage?, deletes: Int, of: Int, poll: ArmedTimer?)
    }

    enum Report: Hashable, Sendable {
        /// A page was applied, so transactions that waited for its version may now be confirmed.
        case progressed(OutboxSummary)
        case contactLost(TransportError)
        case epochDoubted
    }

    var isBusy: Bool {
        switch state {
        case .pulling, .applying, .resetting, .vacating: true
        case .resting, .waiting, .braked: false
        }
    }

    /// Whether a pull would be sent at once.
    var isResting: Bool {
        if case .resting = state { stored.hasAccess } else { false }
    }

    var historyIsInDoubt: Bool {
        if case .waiting(_, .historyInDoubt) = state { true } else { false }
    }

    // MARK: Events, in life-cycle order

    /// Starts a pull, or notes that one must follow the current operation.
    ///
    /// Does nothing while the brake holds. A wait ends early only for `.contact` and `.request`, and only if its
    /// obstacle permits.
    mutating func requested(by reason: Reason, hello: ServerHello?, _ turn: inout Turn) -> [SyncAction] {
        var isHint = false
        if case .hint(let version) = reason {
            guard version > head else {
                // Either the hint is older than the last pull, or the server was restored from a backup while the
                // stream of hints stayed open.
                return version < head ? pollSooner(&turn) : []
            }
            hinted.note(version)
            isHint = true
        }
        switch state {
        case .resting(.some) where isHint && hinted.isOverdue:
            // The poll timer is already armed for the hint that the last pull did not show.
            return []
        // A push to a space without access was probably rejected, so there is nothing to pull right away.
        case .resting where reason == .response && !stored.hasAccess:
            return pollSooner(&turn)
        case .resting(let poll):
            return disarm(poll) + pull(hello, &turn)
        case .pulling(let request, let deadline, let cursor, let then):
            state = .pulling(request: request, deadline: deadline, cursor: cursor, then: then.joined(with: reason))
            return []
        case .applying(let page, let then):
            state = .applying(page, then: then.joined(with: reason))
            return []
        case .vacating(let then):
            state = .vacating(then: then.joined(with: reason))
            return []
        case .resetting:
            return []
        case .waiting(let timer, let obstacle):
            let needsSnapshot = obstacle.needsSnapshot(after: contradictions)
            guard reason == .request || reason == .contact && !needsSnapshot && !obstacle.outlastsContact,
                !obstacle.isBinding
            else { return [] }
            let disarm = SyncAction.timer(.disarm(timer.serial))
            guard needsSnapshot else { return [disarm] + pull(hello, &turn) }
            state = .resetting(then: .rest)
            return [disarm, .store(.resetCursor(space))]
        case .braked:
            return []
        }
    }

    mutating func pullEnded(
        _ request: Serial, _ result: Result<PullResponse, TransportError>, epoch: Epoch?, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        guard case .pulling(request, let deadline, let cursor, let then) = state else { return ([], nil) }
        let disarm = SyncAction.timer(.disarm(deadline.serial))
        switch result {
        case .success(.page(let page)):
            // The page may come from another server, to which the device has not sent a hello yet.
            guard page.epoch == epoch else {
                state = .resting(poll: nil)
                return ([disarm], .epochDoubted)
            }
            // A head below a confirmed commit means that the server may have lost the commit. But if the commit was
            // confirmed during this pull (`.again`), the server may have made the page before the commit.
            if then != .again, let receipt = stored.unreachedReceipt, page.head < receipt.version {
                return (
                    [disarm] + wait(for: .historyInDoubt(confirmed: receipt.version, head: page.head), &turn), nil
                )
            }
            if let message = page.contradiction(to: stored, after: cursor, trail: trail) {
                return ([disarm] + contradicted(message, &turn), nil)
            }
            state = .applying(page, then: then)
            return ([disarm, .store(.apply(page, after: stored.cursor, brake: turn.policy.deleteBrake))], nil)
        case .success(.mustReset(.epoch)) where !doubtsEpoch:
            doubtsEpoch = true
            state = .resting(poll: nil)
            return ([disarm], .epochDoubted)
        case .success(.mustReset(let reason)):
            // After the reason `epoch`, another hello has named the history of this device, so the cursor is wrong.
            resets += 1
            guard resets <= turn.policy.freeResets else {
                return ([disarm] + wait(for: .reset(reason), &turn), nil)
            }
            state = .resetting(then: then)
            return ([disarm, .store(.resetCursor(space))], nil)
        case .success(.noAccess(let reportedEpoch)):
            // Remove data only if the server reports the epoch that the device follows.
            guard reportedEpoch == epoch else {
                state = .resting(poll: nil)
                return ([disarm], .epochDoubted)
            }
            // The device is not in sync until the space is vacated, because it still shows data that the account may
            // not read.
            hasCaughtUp = false
            state = .vacating(then: then)
            return ([disarm, .store(.vacate(space, of: reportedEpoch, brake: turn.policy.deleteBrake))], nil)
        case .failure(let failure):
            let (actions, report) = failed(failure, &turn)
            return ([disarm] + actions, report)
        }
    }

    /// Records that the server has confirmed a transaction. Pulls send the receipt until the cursor is beyond its
    /// version, and again when the cursor is lost.
    mutating func confirmed(by receipt: CommitReceipt) {
        stored = stored.confirmed(by: receipt)
    }

    mutating func cursorReset(hello: ServerHello?, _ turn: inout Turn) -> [SyncAction] {
        guard case .resetting = state else { return [] }
        trail = nil
        stored = StoredSpace(
            space: space, cursor: nil, version: stored.version, isComplete: false, hasAccess: stored.hasAccess,
            receipt: stored.receipt, notices: stored.notices)
        return pull(hello, &turn)
    }

    /// Handles the result of vacating. The space is then polled, because no hint announces that access has returned.
    mutating func vacated(
        _ result: VacateResult, hello: ServerHello?, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        guard case .vacating(let then) = state else { return ([], nil) }
        switch result {
        case .vacated(let vacated) where vacated.stored.hasAccess:
            // Another engine on this database now follows another history.
            state = .resting(poll: nil)
            return ([], .epochDoubted)
        case .vacated(let vacated):
            stored = vacated.stored
            head = stored.version
            hinted = HintedVersions()
            backoff.reset()
            resets = 0
            doubtsEpoch = false
            if then.requestsPull(at: head) { return (pull(hello, &turn), .progressed(vacated.outbox)) }
            hasCaughtUp = true
            consent = DeleteConsent()
            return (rest(for: turn.policy.pollIntervalWithHints, &turn), .progressed(vacated.outbox))
        case .braked(let deletes, let total):
            if let epoch = hello?.epoch, consent.use(for: deletes) {
                state = .vacating(then: then)
                return ([.store(.vacate(space, of: epoch, brake: nil))], nil)
            }
            return (brake(nil, deletes: deletes, of: total, &turn), nil)
        }
    }

    mutating func pageApplied(
        _ result: ApplyResult, hello: ServerHello?, hintsAreOpen: Bool, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        guard case .applying(let page, let then) = state else { return ([], nil) }
        switch result {
        case .applied(let stored, let outbox, let changed):
            let isProgress = page.isProgress(from: self.stored, to: stored)
            // The user has made room in the journal since the request, which asked for no notices.
            let mayHaveNotices = self.stored.noticesWait && !stored.noticesWait
            let hasMoreNotices =
                mayHaveNotices
                || page.hasMoreNotices && stored.notices.map(\.after) != self.stored.notices.map(\.after)
            self.stored = stored
            doubtsEpoch = false
            head = max(page.head, page.version)
            trail.follow(stored.cursor)
            // After a reset or a contradiction, keep the back-off until the pull has caught up. Otherwise, a snapshot
            // that is restarted after each page would never back off.
            if resets == 0, contradictions == 0 { backoff.reset() }
            pace.pageArrived(turn.policy)
            // Pull again only after progress. Otherwise, a server that always announces more would cause a loop.
            let announcesMore = hasMoreNotices || (isProgress && (page.hasMore || !isAtHead))
            let retry = announcesMore ? nil : hinted.pulled(to: head, &turn)
            let pullsAgain = retry == nil ? then.requestsPull(at: head) : then == .again
            if announcesMore || pullsAgain {
                guard announcesMore || !isProgress else {
                    // The device had caught up; this pull starts a new run.
                    run = PullRun()
                    // With `.again`, the page may be older than the request.
                    hasCaughtUp = hasCaughtUp || then != .again
                    return (pull(hello, &turn), .progressed(outbox))
                }
                if let excess = run.pageArrived(changed: changed, of: rows(hello, turn)) {
                    return (contradicted("the server \(excess), in space \(space)", &turn), .progressed(outbox))
                }
                // A download may have thousands of pages, and would fill the disk with its WAL.
                return ([.checkpoint] + pull(hello, &turn), .progressed(outbox))
            }
            run = PullRun()
            resets = 0
            contradictions = 0
            trail = nil
            backoff.reset()
            hasCaughtUp = true
            consent = DeleteConsent()
            let interval = hintsAreOpen ? turn.policy.pollIntervalWithHints : turn.policy.pollInterval
            return (rest(for: retry ?? interval, &turn), .progressed(outbox))
        case .braked(let deletes, let total):
            if consent.use(for: deletes) {
                state = .applying(page, then: then)
                return ([.store(.apply(page, after: self.stored.cursor, brake: nil))], nil)
            }
            return (brake(page, deletes: deletes, of: total, &turn), nil)
        }
    }

    /// Handles a person's consent to the deletions that the brake holds back.
    ///
    /// A pull follows, because the response that was held back may be older than the hints and requests that came
    /// meanwhile.
    mutating func deletesAllowed(epoch: Epoch?) -> [SyncAction] {
        guard case .braked(let page, _, _, let poll) = state else {
            // The server is being asked again. Its new response may need the same consent.
            consent.grant()
            return []
        }
        if let page {
            state = .applying(page, then: .again)
            return disarm(poll) + [.store(.apply(page, after: stored.cursor, brake: nil))]
        }
        guard let epoch else { return [] }
        state = .vacating(then: .again)
        return disarm(poll) + [.store(.vacate(space, of: epoch, brake: nil))]
    }

    mutating func storeFailed(
        _ task: StoreTask.SpaceTask, _ failure: StoreError, _ turn: inout Turn
    ) -> [SyncAction] {
        switch (task, state) {
        case (.applyingPage, .applying) where failure.code == .contradiction: contradicted(failure.message, &turn)
        case (.applyingPage, .applying), (.resettingCursor, .resetting), (.vacating, .vacating):
            wait(for: .store(failure), &turn)
        case (.applyingPage, _), (.resettingCursor, _), (.vacating, _): []
        }
    }

    /// Returns whether this is the timer of the next poll.
    func polls(at timer: Serial) -> Bool {
        switch state {
        case .resting(let poll?), .braked(_, _, _, let poll?): poll.serial == timer
        case .resting, .pulling, .applying, .resetting, .vacating, .waiting, .braked: false
        }
    }

    mutating func timerFired(
        _ timer: Serial, hello: ServerHello?, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        switch state {
        case .resting(let poll?) where poll.serial == timer:
            return (pull(hello, &turn), nil)
        case .braked(let page, let deletes, let total, let poll?) where poll.serial == timer:
            // Without a connection, stay braked until the next poll.
            guard hello != nil else { return (brake(page, deletes: deletes, of: total, &turn), nil) }
            return (pull(hello, &turn), nil)
        case .pulling(let request, let deadline, _, _) where deadline.serial == timer:
            let failure = TransportError(
                .timedOut, "the server did not respond to a pull within \(pace.deadline(turn.policy))")
            let (actions, report) = failed(failure, &turn)
            return ([.server(.abandon(request))] + actions, report)
        case .waiting(let armed, let obstacle) where armed.serial == timer:
            guard obstacle.needsSnapshot(after: contradictions) else { return (pull(hello, &turn), nil) }
            state = .resetting(then: .rest)
            return ([.store(.resetCursor(space))], nil)
        case .resting, .pulling, .applying, .resetting, .vacating, .waiting, .braked:
            return ([], nil)
        }
    }

    /// Replaces a long rest with a short one, because hints will not announce changes.
    ///
    /// A rest that would end sooner does not change, so that repeated calls cannot postpone it.
    mutating func pollSooner(_ turn: inout Turn) -> [SyncAction] {
        guard case .resting(let poll?) = state, poll.due > turn.now + turn.policy.pollInterval else { return [] }
        var actions = disarm(poll)
        state = .resting(poll: turn.arm(after: turn.policy.pollInterval, &actions))
        return actions
    }

    /// Requests notices for the device's new client id from now on.
    mutating func identityChanged(_ stored: StoredSpace) {
        self.stored.notices = stored.notices
    }

    /// Abandons the current operation, because the store now follows another epoch.
    mutating func sessionChanged(_ stored: StoredSpace) -> [SyncAction] {
        self.stored = stored
        head = stored.version
        hinted = HintedVersions()
        hasCaughtUp = false
        doubtsEpoch = false
        // A person has agreed to deletions of the former history, and not to those of the new one.
        consent = DeleteConsent()
        return stop()
    }

    /// Cancels the request or timer of the current state.
    mutating func stop() -> [SyncAction] {
        defer { state = .resting(poll: nil) }
        return switch state {
        case .resting(let poll): disarm(poll)
        case .pulling(let request, let deadline, _, _): [.server(.abandon(request)), .timer(.disarm(deadline.serial))]
        case .waiting(let timer, _): [.timer(.disarm(timer.serial))]
        case .braked(_, _, _, let poll): disarm(poll)
        case .applying, .resetting, .vacating: []
        }
    }

    // MARK: Transitions

    /// Whether the device has the newest version that it knows of, and no obstacle blocks the space. A pull may be in
    /// progress.
    var isInSync: Bool {
        switch state {
        case .waiting, .braked: false
        case .resting, .pulling, .applying, .resetting, .vacating: hasCaughtUp && (isAtHead || !stored.hasAccess)
        }
    }

    /// Whether the device has the newest version that it knows of, including every commit that the server has
    /// confirmed, and no operation is in progress.
    var hasEverything: Bool {
        guard case .resting = state else { return false }
        return hasCaughtUp && (!stored.hasAccess || isAtHead && stored.unreachedReceipt == nil)
    }

    private var isAtHead: Bool { stored.isComplete && stored.version >= head }

    /// Starts a pull. Without contact the machine rests; the session pulls every space when contact is made.
    private mutating func pull(_ hello: ServerHello?, _ turn: inout Turn) -> [SyncAction] {
        guard let hello else {
            state = .resting(poll: nil)
            return []
        }
        hinted.pullBegan()
        let request = turn.makeSerial()
        let limit = rows(hello, turn)
        var actions: [SyncAction] = [
            .server(
                .send(
                    request,
                    .pull(
                        PullRequest(
                            space: space, cursor: stored.cursor, receipt: stored.neededReceipt?.cursor, limit: limit,
                            account: hello.account, notices: stored.notices))))
        ]
        state = .pulling(
            request: request, deadline: turn.arm(after: pace.deadline(turn.policy), &actions), cursor: stored.cursor,
            then: .rest)
        return actions
    }

    /// Returns the number of rows to request in a page.
    private func rows(_ hello: ServerHello?, _ turn: Turn) -> Int {
        max(1, min(pace.rows(turn.policy), hello?.limits.pageRows ?? .max))
    }

    private mutating func rest(for interval: Duration, _ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = [.checkpoint]
        state = .resting(poll: turn.arm(after: interval, &actions))
        return actions
    }

    /// Holds back the deletions and polls again later, because a later response of the server may need no consent.
    private mutating func brake(
        _ page: PullPage?, deletes: Int, of total: Int, _ turn: inout Turn
    ) -> [SyncAction] {
        var actions: [SyncAction] = []
        let poll = turn.arm(after: turn.policy.pollIntervalWithHints, &actions)
        consent.ask(about: deletes)
        state = .braked(page, deletes: deletes, of: total, poll: poll)
        return actions
    }

    private mutating func failed(
        _ failure: TransportError, _ turn: inout Turn
    ) -> (actions: [SyncAction], report: Report?) {
        switch failure.code {
        case .unreachable, .unauthorized, .otherAccount, .incompatible:
            return (rest(after: failure, &turn), .contactLost(failure))
        case .timedOut:
            // The next page is smaller. Deadlines are long, so repeated requests are no storm.
            pace.pageWasLate(turn.policy)
            state = .resting(poll: nil)
            return ([], .contactLost(failure))
        case .forbidden, .tooLarge, .throttled, .serverFailed, .refused, .notUnderstood, .cancelled:
            return (wait(for: .transport(failure), &turn), nil)
        }
    }

    /// Ends a pull whose failure puts the contact in doubt.
    ///
    /// The link sends another hello, after its own wait. A hello, a push, or a pull of another space that succeeds
    /// meanwhile resets the wait of the link, but says nothing about the next pull of this space. So if the pull fails
    /// again, this machine waits by its own back-off. A requested sync, new credentials, or a new route end this wait
    /// early.
    private mutating func rest(after failure: TransportError, _ turn: inout Turn) -> [SyncAction] {
        guard backoff.failures < turn.policy.freeResets else { return wait(for: .transport(failure), &turn) }
        backoff.count()
        state = .resting(poll: nil)
        return []
    }

    /// Ends a wait after lost contact, because the old failures do not apply to a new route or to new credentials.
    mutating func routeChanged() -> [SyncAction] {
        guard case .waiting(let timer, let obstacle) = state, obstacle.outlastsContact, !obstacle.isBinding else {
            return []
        }
        backoff.reset()
        state = .resting(poll: nil)
        return [.timer(.disarm(timer.serial))]
    }

    /// Handles a contradiction.
    ///
    /// The first one may come from a stale response, so the page is requested again. Each further one starts a fresh
    /// snapshot: after the normal back-off, or, beyond `contradictionsBeforeRest` contradictions, after a rest that
    /// doubles each time.
    private mutating func contradicted(_ message: String, _ turn: inout Turn) -> [SyncAction] {
        contradictions += 1
        trail = nil
        run = PullRun()
        guard contradictions > Self.contradictionsBeforeRest else { return wait(for: .contradiction(message), &turn) }
        let doublings = min(contradictions - Self.contradictionsBeforeRest - 1, 16)
        let rest = min(Self.longestRestAfterContradictions, Self.firstRestAfterContradictions * (1 << doublings))
        var actions: [SyncAction] = []
        state = .waiting(turn.arm(after: rest, &actions), .contradiction(message))
        return actions
    }

    /// Whether the machine waits to resolve a contradiction with a repeated request or the first fresh snapshot.
    var isRecovering: Bool {
        guard case .waiting(_, .contradiction) = state else { return false }
        return contradictions <= 2
    }

    /// Maximum number of contradictions with the normal back-off. The first one repeats a request, and each of the
    /// others starts a fresh snapshot, so four fresh snapshots have failed when the next contradiction comes.
    static let contradictionsBeforeRest = 5
    /// Time to wait after the first contradiction beyond `contradictionsBeforeRest`. It is short, because the server
    /// may recover within minutes. A sync that a person requests ends the wait.
    package static let firstRestAfterContradictions = Duration.seconds(300)
    /// Maximum time to wait between fresh snapshots, each of which may be large.
    package static let longestRestAfterContradictions = Duration.seconds(3_600)

    private mutating func wait(for obstacle: Obstacle, _ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = []
        let delay = backoff.nextDelay(
            retryAfter: obstacle.retryAfter, policy: turn.policy.backoff, random: &turn.random)
        state = .waiting(turn.arm(after: delay, &actions), obstacle)
        return actions
    }

    private func disarm(_ timer: ArmedTimer?) -> [SyncAction] {
        timer.map { [.timer(.disarm($0.serial))] } ?? []
    }
}
