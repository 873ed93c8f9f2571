package import SyncModel

/// Keeps one space in sync with the server.
///
///     resting → pulling → applying → resting | pulling (more pages, or news arrived meanwhile)
///        ↑         │ failed    │ failed
///        └─waiting ←───────────┘
///     resetting: the cursor is no longer valid; the next pull starts a snapshot
///     vacating: the account may not read the space; its shown data is removed, and a long rest follows
///     braked: a snapshot, or the loss of access, would delete much of the device's data; a person's consent ends this
///             state, or a later response of the server, which is asked again from time to time
package struct PullMachine: Hashable, Sendable {
    package let space: SpaceID
    package private(set) var state = State.resting(poll: nil)
    package private(set) var stored: StoredSpace
    /// The newest version known to exist, as reported by pages.
    package private(set) var head: Version
    /// Whether a pull has caught up since the engine started.
    package private(set) var hasCaughtUp = false
    package private(set) var backoff = Backoff()
    package private(set) var resets = 0
    /// Number of pages that contradicted themselves or the stored data since a pull last caught up.
    package private(set) var contradictions = 0
    /// Remembers a cursor of the current run of pages. If that cursor comes back, the server is leading in a circle.
    package private(set) var trail: CursorTrail?
    /// Page size after a page came too late. It grows again with each page that arrives; nil means the policy's size.
    package private(set) var shrunkPage: Int?
    /// Number of times that the deadline is doubled. Pages that are already small get more time instead.
    package private(set) var stretch = 0
    /// Number of deletions that a person was last asked about; nil when there is no open question.
    package private(set) var asked: Int?
    /// Number of deletions that a person has agreed to while the server was being asked again.
    package private(set) var consent: Int?

    init(stored: StoredSpace) {
        space = stored.space
        self.stored = stored
        head = stored.version
    }

    /// Creates a machine in a recorded state.
    package init(
        state: State, stored: StoredSpace, head: Version, hasCaughtUp: Bool, backoff: Backoff, resets: Int,
        contradictions: Int, trail: CursorTrail?, shrunkPage: Int?,
        stretch: Int, asked: Int?, consent: Int?
    ) {
        self.stretch = stretch
        self.asked = asked
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
        self.shrunkPage = shrunkPage
    }

    package enum State: Hashable, Sendable {
        case resting(poll: ArmedTimer?)
        case pulling(request: Serial, deadline: ArmedTimer, cursor: Cursor?, then: Then)
        case applying(PullPage, then: Then)
        case resetting(then: Then)
        case vacating(then: Then)
        case waiting(ArmedTimer, Obstacle)
        /// A nil page means that the space would be vacated.
        case braked(PullPage?, deletes: Int, of: Int, poll: ArmedTimer?)
    }

    /// The step that follows the current pull.
    package enum Then: Hashable, Sendable {
        case rest
        /// Pull again, because this version was reported meanwhile, unless the current page covers it.
        case until(Version)
        /// Pull again in any case: the current response may predate the request that came meanwhile.
        case again
    }

    package enum Obstacle: Hashable, Sendable {
        case transport(TransportFailure)
        case store(StoreFailure)
        case reset(ResetReason)
        /// The server shows less than it has confirmed, and does not say that it was restored.
        case historyInDoubt(confirmed: Version, head: Version)
        /// The server's response contradicts itself or the store. A fresh snapshot beside the outbox follows, except
        /// after the first contradiction.
        case contradiction(String)
    }

    enum News: Hashable, Sendable {
        /// A page was applied, so transactions that waited for its version may now be confirmed.
        case progressed(OutboxSummary)
        case contactLost(TransportFailure)
        case epochDoubted
    }

    var isInFlight: Bool {
        switch state {
        case .pulling, .applying, .resetting, .vacating: true
        case .resting, .waiting, .braked: false
        }
    }

    var historyIsInDoubt: Bool {
        if case .waiting(_, .historyInDoubt) = state { true } else { false }
    }

    // MARK: Events, in life-cycle order

    /// Pulls now, or as soon as the current operation has ended.
    mutating func wanted(by reason: Reason, hello: ServerHello?, _ turn: inout Turn) -> [SyncAction] {
        if case .news(let version) = reason, version <= head { return [] }
        switch state {
        // A push to a space without access was probably rejected, so there is nothing to pull right away.
        case .resting where reason == .answer && !stored.hasAccess:
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
            guard reason == .request, !obstacle.isBinding else { return [] }
            return [.timer(.disarm(timer.serial))] + pull(hello, &turn)
        case .braked:
            return []
        }
    }

    enum Reason: Hashable, Sendable {
        /// This version exists.
        case news(Version)
        /// The server has answered a push, so its effect can be pulled.
        case answer
        /// The application or the user wants a pull without waiting out a failure.
        case request
    }

    mutating func pullEnded(
        _ request: Serial, _ result: Result<PullReply, TransportFailure>, epoch: Epoch?, _ turn: inout Turn
    ) -> (actions: [SyncAction], news: News?) {
        guard case .pulling(request, let deadline, let cursor, let then) = state else { return ([], nil) }
        let disarm = SyncAction.timer(.disarm(deadline.serial))
        switch result {
        case .success(.page(let page)):
            // Another server, which has not received a hello yet, may have answered.
            guard page.epoch == epoch else {
                state = .resting(poll: nil)
                return ([disarm], .epochDoubted)
            }
            // A page requested before the server confirmed the commit may also have been made before it.
            if then != .again, let receipt = stored.receipt, page.head < receipt.version {
                return (
                    [disarm] + wait(for: .historyInDoubt(confirmed: receipt.version, head: page.head), &turn), nil
                )
            }
            if let fault = fault(of: page, after: cursor) {
                return ([disarm] + contradicted(fault, &turn), nil)
            }
            state = .applying(page, then: then)
            return ([disarm, .store(.apply(page, after: stored.cursor, brake: turn.policy.deleteBrake))], nil)
        case .success(.mustReset(.epoch)):
            state = .resting(poll: nil)
            return ([disarm], .epochDoubted)
        case .success(.mustReset(let reason)):
            resets += 1
            guard resets <= turn.policy.freeResets else {
                return ([disarm] + wait(for: .reset(reason), &turn), nil)
            }
            state = .resetting(then: then)
            return ([disarm, .store(.resetCursor(space))], nil)
        case .success(.noAccess(let told)):
            // Only the history that the device follows can take away what it has shown.
            guard told == epoch else {
                state = .resting(poll: nil)
                return ([disarm], .epochDoubted)
            }
            // Until the space is vacated, the device holds data that it may not hold.
            hasCaughtUp = false
            state = .vacating(then: then)
            return ([disarm, .store(.vacate(space, of: told, brake: turn.policy.deleteBrake))], nil)
        case .failure(let failure):
            let (actions, news) = failed(failure, &turn)
            return ([disarm] + actions, news)
        }
    }

    /// The server has confirmed a commit. Later pulls carry the proof.
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

    /// Handles the result of vacating. The space is pulled again after a long rest, because no hint announces that
    /// access has returned.
    mutating func vacated(
        _ result: VacateResult, hello: ServerHello?, _ turn: inout Turn
    ) -> (actions: [SyncAction], news: News?) {
        guard case .vacating(let then) = state else { return ([], nil) }
        switch result {
        case .vacated(let vacated) where vacated.stored.hasAccess:
            // Another engine on this database now follows another history.
            state = .resting(poll: nil)
            return ([], .epochDoubted)
        case .vacated(let vacated):
            let isNews = stored.hasAccess
            stored = vacated.stored
            head = stored.version
            backoff.reset()
            resets = 0
            if isNews, then.asksAgain(at: head) { return (pull(hello, &turn), .progressed(vacated.outbox)) }
            hasCaughtUp = true
            (asked, consent) = (nil, nil)
            return (rest(hintsAreOpen: then == .rest, &turn), .progressed(vacated.outbox))
        case .braked(let deletes, let total):
            if let epoch = hello?.epoch, hasConsent(to: deletes) {
                state = .vacating(then: then)
                return ([.store(.vacate(space, of: epoch, brake: nil))], nil)
            }
            return (brake(nil, deletes: deletes, of: total, &turn), nil)
        }
    }

    mutating func pageApplied(
        _ result: ApplyResult, hello: ServerHello?, hintsAreOpen: Bool, _ turn: inout Turn
    ) -> (actions: [SyncAction], news: News?) {
        guard case .applying(let page, let then) = state else { return ([], nil) }
        switch result {
        case .applied(let stored, let outbox, _):
            let isProgress = page.isProgress(from: self.stored, to: stored)
            let hasMoreNotices =
                page.hasMoreNotices && stored.notices.map(\.after) != self.stored.notices.map(\.after)
            self.stored = stored
            head = max(page.head, page.version)
            trail.follow(stored.cursor)
            // A snapshot that starts over again and again is no progress.
            if resets == 0, contradictions == 0 { backoff.reset() }
            stretch = max(0, stretch - 1)
            shrunkPage = shrunkPage.flatMap { $0.grown < turn.policy.pageRows ? $0.grown : nil }
            // A server that promises more than it shows must not cause a loop. Without progress, wait for the next
            // poll.
            if then.asksAgain(at: head) || hasMoreNotices || (isProgress && (page.hasMore || !isCaughtUp)) {
                return (pull(hello, &turn), .progressed(outbox))
            }
            resets = 0
            contradictions = 0
            trail = nil
            backoff.reset()
            hasCaughtUp = true
            (asked, consent) = (nil, nil)
            return (rest(hintsAreOpen: hintsAreOpen, &turn), .progressed(outbox))
        case .braked(let deletes, let total):
            if hasConsent(to: deletes) {
                state = .applying(page, then: then)
                return ([.store(.apply(page, after: self.stored.cursor, brake: nil))], nil)
            }
            return (brake(page, deletes: deletes, of: total, &turn), nil)
        }
    }

    /// A person has agreed to the deletions that the brake held back.
    mutating func deletesAllowed(epoch: Epoch?) -> [SyncAction] {
        guard case .braked(let page, _, _, let poll) = state else {
            // The server is being asked again. Its new response may need the same consent.
            if let asked { consent = asked }
            return []
        }
        if let page {
            state = .applying(page, then: .rest)
            return disarm(poll) + [.store(.apply(page, after: stored.cursor, brake: nil))]
        }
        guard let epoch else { return [] }
        state = .vacating(then: .rest)
        return disarm(poll) + [.store(.vacate(space, of: epoch, brake: nil))]
    }

    /// Returns whether a person has agreed to this many deletions, and if so uses up the consent.
    private mutating func hasConsent(to deletes: Int) -> Bool {
        guard let agreed = consent, deletes <= agreed else { return false }
        consent = nil
        return true
    }

    mutating func storeFailed(
        _ task: StoreTask.SpaceTask, _ failure: StoreFailure, _ turn: inout Turn
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
    ) -> (actions: [SyncAction], news: News?) {
        switch state {
        case .resting(let poll?) where poll.serial == timer:
            return (pull(hello, &turn), nil)
        case .braked(let page, let deletes, let total, let poll?) where poll.serial == timer:
            // Without contact, keep asking the person.
            guard hello != nil else { return (brake(page, deletes: deletes, of: total, &turn), nil) }
            return (pull(hello, &turn), nil)
        case .pulling(let request, let deadline, _, _) where deadline.serial == timer:
            let failure = TransportFailure(
                .timedOut, "the server did not answer a pull in \(self.deadline(turn.policy))")
            let (actions, news) = failed(failure, &turn)
            return ([.server(.abandon(request))] + actions, news)
        case .waiting(let armed, let obstacle) where armed.serial == timer:
            guard obstacle.needsSnapshot(after: contradictions) else { return (pull(hello, &turn), nil) }
            state = .resetting(then: .rest)
            return ([.store(.resetCursor(space))], nil)
        case .resting, .pulling, .applying, .resetting, .vacating, .waiting, .braked:
            return ([], nil)
        }
    }

    /// Replaces a long rest by a short one, because no hints will announce changes.
    ///
    /// A rest that ends sooner is left alone, so that streams that end again and again do not postpone it.
    mutating func hintsLost(_ turn: inout Turn) -> [SyncAction] {
        pollSooner(&turn)
    }

    private mutating func pollSooner(_ turn: inout Turn) -> [SyncAction] {
        guard case .resting(let poll?) = state, poll.due > turn.now + turn.policy.pollInterval else { return [] }
        var actions = disarm(poll)
        state = .resting(poll: turn.arm(after: turn.policy.pollInterval, &actions))
        return actions
    }

    /// Requests notices for the device's new client id from now on.
    mutating func identityChanged(_ stored: StoredSpace) {
        self.stored.notices = stored.notices
    }

    /// Abandons the current operation, because the store now holds another epoch or identity.
    mutating func sessionChanged(_ stored: StoredSpace) -> [SyncAction] {
        self.stored = stored
        head = stored.version
        hasCaughtUp = false
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

    /// Whether nothing is in the way and everything known to exist is here. Another pull may be in progress.
    var isInSync: Bool {
        switch state {
        case .waiting, .braked: false
        case .resting, .pulling, .applying, .resetting, .vacating: hasCaughtUp && (isCaughtUp || !stored.hasAccess)
        }
    }

    /// Whether everything that the server shows is here, including all that it has confirmed, and nothing is in
    /// progress.
    var showsAll: Bool {
        guard case .resting = state else { return false }
        return hasCaughtUp && (!stored.hasAccess || isCaughtUp && stored.receipt == nil)
    }

    private var isCaughtUp: Bool { stored.isComplete && stored.version >= head }

    /// Starts a pull. Without contact the machine rests; the session pulls every space when contact is made.
    private mutating func pull(_ hello: ServerHello?, _ turn: inout Turn) -> [SyncAction] {
        guard let hello else {
            state = .resting(poll: nil)
            return []
        }
        let request = turn.makeSerial()
        let limit = max(1, min(shrunkPage ?? turn.policy.pageRows, hello.limits.pageRows))
        var actions: [SyncAction] = [
            .server(
                .send(
                    request,
                    .pull(
                        PullRequest(
                            space: space, cursor: stored.cursor, receipt: stored.receipt?.cursor, limit: limit,
                            account: hello.account, notices: stored.notices))))
        ]
        state = .pulling(
            request: request, deadline: turn.arm(after: deadline(turn.policy), &actions), cursor: stored.cursor,
            then: .rest)
        return actions
    }

    private func deadline(_ policy: SyncPolicy) -> Duration {
        min(policy.requestDeadline * (1 << stretch), max(policy.requestDeadline, policy.longestDeadline))
    }

    private mutating func rest(hintsAreOpen: Bool, _ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = [.checkpoint]
        let interval = hintsAreOpen ? turn.policy.pollIntervalWithHints : turn.policy.pollInterval
        state = .resting(poll: turn.arm(after: interval, &actions))
        return actions
    }

    /// Holds back the deletions and polls again later, because a later response of the server may need no consent.
    private mutating func brake(
        _ page: PullPage?, deletes: Int, of total: Int, _ turn: inout Turn
    ) -> [SyncAction] {
        var actions: [SyncAction] = []
        let poll = turn.arm(after: turn.policy.pollIntervalWithHints, &actions)
        (asked, consent) = (deletes, nil)
        state = .braked(page, deletes: deletes, of: total, poll: poll)
        return actions
    }

    /// Returns the first claim of the page that cannot be true, or nil. Accepting one could cause a loop or a step
    /// backward.
    private func fault(of page: PullPage, after cursor: Cursor?) -> String? {
        if page.hasMore, let trail, trail.mark == page.cursor {
            return "the server leads in a circle: its pages of space \(space) come back to an earlier cursor"
        }
        if page.space != space {
            return "a page of space \(page.space) in answer to a pull of \(space)"
        }
        if page.hasMore, page.cursor == cursor {
            return "the server promises more of space \(space), but its cursor stands still"
        }
        if case .commits = page.content, page.hasMore, page.version <= stored.version {
            return "the server promises more of space \(space), and stays at version \(page.version)"
        }
        if case .snapshot(_, isFirst: true, _) = page.content, cursor != nil {
            return "space \(space) begins again with a snapshot, although it was asked to go on"
        }
        if case .commits = page.content, page.version < stored.version {
            return "space \(space) went back from version \(stored.version) to \(page.version)"
        }
        return nil
    }

    private mutating func failed(
        _ failure: TransportFailure, _ turn: inout Turn
    ) -> (actions: [SyncAction], news: News?) {
        switch failure.code {
        case .unreachable, .unauthorized, .otherAccount, .incompatible:
            state = .resting(poll: nil)
            return ([], .contactLost(failure))
        case .timedOut:
            let rows = shrunkPage ?? turn.policy.pageRows
            if rows > turn.policy.smallestPage {
                shrunkPage = max(turn.policy.smallestPage, rows / 2)
            } else {
                // The problem is not the number of rows but their size or the link. Request even fewer rows and allow
                // more time.
                shrunkPage = max(1, rows / 4)
                stretch = min(stretch + 1, Self.mostStretch)
            }
            state = .resting(poll: nil)
            return ([], .contactLost(failure))
        case .forbidden, .tooLarge, .throttled, .serverFailed, .refused, .notUnderstood, .cancelled:
            return (wait(for: .transport(failure), &turn), nil)
        }
    }

    /// Handles a contradiction.
    ///
    /// The first one may be a stale response, so the page is requested again. From the second on, a fresh snapshot is
    /// taken; after `contradictionsBeforeRest` of them, only rarely.
    private mutating func contradicted(_ words: String, _ turn: inout Turn) -> [SyncAction] {
        contradictions += 1
        trail = nil
        guard contradictions > Self.contradictionsBeforeRest else { return wait(for: .contradiction(words), &turn) }
        var actions: [SyncAction] = []
        state = .waiting(turn.arm(after: Self.restAfterContradictions, &actions), .contradiction(words))
        return actions
    }

    /// Ten doublings of thirty seconds exceed any deadline.
    private static let mostStretch = 10

    /// Number of contradictions after which the server is asked only rarely: four snapshots have not helped.
    static let contradictionsBeforeRest = 5
    /// How long the server is left alone then. A person who requests a sync does not have to wait for it.
    static let restAfterContradictions = Duration.seconds(3_600)

    private mutating func wait(for obstacle: Obstacle, _ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = []
        let retryAfter: Duration? = if case .transport(let failure) = obstacle { failure.retryAfter } else { nil }
        let delay = backoff.nextDelay(retryAfter: retryAfter, policy: turn.policy.backoff, random: &turn.random)
        state = .waiting(turn.arm(after: delay, &actions), obstacle)
        return actions
    }

    private func disarm(_ timer: ArmedTimer?) -> [SyncAction] {
        timer.map { [.timer(.disarm($0.serial))] } ?? []
    }
}

/// Detects a cycle in a sequence of cursors while storing only one of them (Brent 1980).
///
/// The stored mark moves to the current cursor after one step, then two, then four, and so on. It therefore ends up
/// inside any cycle, and the cycle is detected when the mark comes back.
package struct CursorTrail: Hashable, Sendable {
    package private(set) var mark: Cursor
    package private(set) var steps: Int
    package private(set) var reach: Int

    package init(mark: Cursor, steps: Int = 0, reach: Int = 1) {
        self.mark = mark
        self.steps = steps
        self.reach = reach
    }
}

extension CursorTrail? {
    mutating func follow(_ cursor: Cursor?) {
        guard let cursor else { return self = nil }
        guard let trail = self else { return self = CursorTrail(mark: cursor) }
        self =
            trail.steps + 1 == trail.reach
            ? CursorTrail(mark: cursor, steps: 0, reach: trail.reach.multipliedReportingOverflow(by: 2).partialValue)
            : CursorTrail(mark: trail.mark, steps: trail.steps + 1, reach: trail.reach)
    }
}

extension PullPage {
    /// Returns whether the device now knows more of the space. The store ensures that the rows of a snapshot increase.
    fileprivate func isProgress(from before: StoredSpace, to after: StoredSpace) -> Bool {
        guard before.cursor != after.cursor else { return false }
        return switch content {
        case .snapshot: true
        case .commits: after.version > before.version || after.isComplete != before.isComplete
        }
    }
}

extension PullMachine.Then {
    func joined(with reason: PullMachine.Reason) -> PullMachine.Then {
        switch (self, reason) {
        case (.again, _), (_, .answer), (_, .request): .again
        case (.until(let earlier), .news(let version)): .until(max(earlier, version))
        case (.rest, .news(let version)): .until(version)
        }
    }

    func asksAgain(at head: Version) -> Bool {
        switch self {
        case .rest: false
        case .until(let version): head < version
        case .again: true
        }
    }
}

extension PullMachine.Obstacle {
    /// Whether a request must not end the wait for this obstacle early.
    var isBinding: Bool {
        switch self {
        case .transport(let failure): failure.asksForPause
        case .store, .historyInDoubt, .contradiction: false
        case .reset: true
        }
    }

    func needsSnapshot(after contradictions: Int) -> Bool {
        switch self {
        case .transport, .store, .historyInDoubt: false
        case .reset: true
        case .contradiction: contradictions > 1
        }
    }
}
