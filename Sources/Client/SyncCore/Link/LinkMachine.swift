package import SyncModel

/// The state of the contact with the server.
///
///     down ⇄ awaitingHello → online
///              ↓ ↑         │ contact lost, or the epoch is in doubt
///            waiting ←─────┤
///        storeFailed ←─────┘ the store could not record the server's history
///              refused: the server, or a gateway, refuses the credentials, the account, or the protocol version;
///                       ends when its timer fires, the credentials change, a sync is requested, or the link goes down
///
/// A network link that is up proves nothing: only the server's response to a hello does.
package struct LinkMachine: Hashable, Sendable {
    package private(set) var state = State.down("not started")
    package private(set) var backoff = Backoff()
    /// Number of times that the epoch was doubted since the device was last in sync. Two servers behind one address
    /// must not cause an endless loop.
    package private(set) var doubts = 0
    /// Number of responses in a row that came too late although the server had just answered a hello.
    package private(set) var lateResponses = 0

    /// Number of late responses in a row that the engine expects to resolve by asking for less. After three, a page has
    /// an eighth of its size, 125 rows, which the slowest supported link delivers in time.
    static let resolvableLateResponses = 3

    package enum State: Hashable, Sendable {
        case down(String)
        case awaitingHello(request: Serial, deadline: ArmedTimer)
        case online(ServerHello)
        case waiting(ArmedTimer, TransportError)
        case storeFailed(ArmedTimer, StoreError)
        case refused(ArmedTimer, TransportError)
    }

    init() {}

    /// Creates a machine in a recorded state.
    package init(state: State, backoff: Backoff, doubts: Int, lateResponses: Int) {
        self.state = state
        self.backoff = backoff
        self.doubts = doubts
        self.lateResponses = lateResponses
    }

    /// Whether the machine waits only because a response came too late, and the next request asks for less.
    var isRecovering: Bool {
        guard case .waiting = state else { return false }
        return (1...Self.resolvableLateResponses).contains(lateResponses)
    }

    var hello: ServerHello? {
        if case .online(let hello) = state { hello } else { nil }
    }

    // MARK: Events, in life-cycle order

    /// - Parameter pause: The rest of the pause that the server requested in an earlier run; nil when there is none.
    mutating func started(_ link: LinkState, pause: Duration?, _ turn: inout Turn) -> [SyncAction] {
        guard case .up = link, let pause else { return linkChanged(link, &turn) }
        let failure = TransportError(
            .throttled, "the server asked for a pause", retryAfter: pause)
        var actions: [SyncAction] = []
        state = .waiting(turn.arm(after: pause, &actions), failure)
        return actions
    }

    mutating func linkChanged(_ link: LinkState, _ turn: inout Turn) -> [SyncAction] {
        switch (link, state) {
        case (.up, .down), (.up, .waiting), (.up, .storeFailed):
            // Neither the old failures nor a pause that a server requested on the old route applies to the new route.
            backoff.reset()
            return sendHello(&turn)
        case (.up, .awaitingHello), (.up, .online), (.up, .refused):
            return []
        case (.down(let reason), _):
            let actions = leave()
            state = .down(reason)
            return actions
        }
    }

    /// - Parameter account: The owner of the database; nil when it has none yet.
    mutating func helloEnded(
        _ request: Serial, _ result: Result<ServerHello, TransportError>, account: AccountID?, _ turn: inout Turn
    ) -> [SyncAction] {
        guard case .awaitingHello(request, let deadline) = state else { return [] }
        let disarm = SyncAction.timer(.disarm(deadline.serial))
        switch result {
        case .success(let hello):
            if let refusal = hello.refusal(for: account) { return [disarm] + wait(after: refusal, &turn) }
            state = .online(hello)
            return [disarm]
        case .failure(let failure):
            lateResponses = 0
            return [disarm] + wait(after: failure, &turn)
        }
    }

    mutating func timerFired(_ timer: Serial, _ turn: inout Turn) -> [SyncAction] {
        switch state {
        case .awaitingHello(let request, let deadline) where deadline.serial == timer:
            let failure = TransportError(
                .timedOut, "the server did not answer a hello in \(turn.policy.requestDeadline)")
            lateResponses = 0
            return [.server(.abandon(request))] + wait(after: failure, &turn)
        case .waiting(let armed, _) where armed.serial == timer, .refused(let armed, _) where armed.serial == timer,
            .storeFailed(let armed, _) where armed.serial == timer:
            return sendHello(&turn)
        case .down, .awaitingHello, .online, .waiting, .storeFailed, .refused:
            return []
        }
    }

    /// Handles a failed request that puts the contact itself in doubt.
    mutating func contactLost(_ failure: TransportError, _ turn: inout Turn) -> [SyncAction] {
        guard case .online = state else { return [] }
        lateResponses = failure.code == .timedOut ? min(lateResponses, Self.resolvableLateResponses) + 1 : 0
        return wait(after: failure, &turn)
    }

    /// Handles a store that could not record the server's history or account. Nothing can be pushed or pulled until the
    /// store has recorded both.
    mutating func adoptionFailed(_ failure: StoreError, _ turn: inout Turn) -> [SyncAction] {
        guard case .online = state else { return [] }
        // The database has exchanged data for another account, which this session had not seen at the hello.
        if failure.code == .otherAccount {
            return wait(after: TransportError(.otherAccount, failure.message, isDefinite: true), &turn)
        }
        var actions: [SyncAction] = []
        let delay = backoff.nextDelay(retryAfter: nil, policy: turn.policy.backoff, random: &turn.random)
        state = .storeFailed(turn.arm(after: delay, &actions), failure)
        return actions
    }

    /// Sends another hello, because the server's history is not the one in its last hello. After repeated doubts, waits
    /// first.
    mutating func epochDoubted(_ turn: inout Turn) -> [SyncAction] {
        guard case .online = state else { return [] }
        doubts += 1
        if doubts <= turn.policy.freeResets { return sendHello(&turn) }
        return wait(
            after: TransportError(.notUnderstood, "the server reports a different history in each hello"), &turn)
    }

    /// Sends another hello, because the contents of the last one may be out of date.
    mutating func helloRequested(_ turn: inout Turn) -> [SyncAction] {
        guard case .online = state else { return [] }
        return sendHello(&turn)
    }

    /// Ends a wait early, unless the server asked for it.
    mutating func contactRequested(_ turn: inout Turn) -> [SyncAction] {
        switch state {
        case .waiting(_, let failure) where failure.asksForPause, .refused(_, let failure) where failure.asksForPause:
            []
        case .waiting, .storeFailed, .refused: sendHello(&turn)
        case .down, .awaitingHello, .online: []
        }
    }

    /// Sends a hello with the new credentials, unless the server asked for a pause.
    ///
    /// A request in flight may still fail because of the old ones. During the hello, such a failure has no effect.
    mutating func credentialsChanged(_ turn: inout Turn) -> [SyncAction] {
        switch state {
        case .online, .awaitingHello: sendHello(&turn)
        case .down, .waiting, .storeFailed, .refused: contactRequested(&turn)
        }
    }

    /// Resets the back-off and the counts after a successful push or pull. A hello alone does not prove that the link
    /// works.
    ///
    /// - Parameter isInSync: Whether the device now has everything of every space. Only this ends the doubts about the
    ///   epoch: a server whose history keeps changing could serve a page of each history before it names the next one.
    mutating func exchangeSucceeded(isInSync: Bool, policy: SyncPolicy) {
        if isInSync { doubts = 0 }
        if doubts <= policy.freeResets { backoff.reset() }
        lateResponses = 0
    }

    mutating func stop() -> [SyncAction] {
        let actions = leave()
        state = .down("stopped")
        return actions
    }

    // MARK: Transitions

    private mutating func sendHello(_ turn: inout Turn) -> [SyncAction] {
        var actions = leave()
        let request = turn.makeSerial()
        actions.append(.server(.send(request, .hello)))
        state = .awaitingHello(request: request, deadline: turn.arm(after: turn.policy.requestDeadline, &actions))
        return actions
    }

    private mutating func wait(after failure: TransportError, _ turn: inout Turn) -> [SyncAction] {
        var actions: [SyncAction] = []
        if failure.refusesDevice {
            let pause = min(failure.retryAfter ?? .zero, turn.policy.backoff.longestRetryAfter)
            var delay = turn.policy.refusalRetry
            // A gateway that has refused a request may let the next one pass, and a missing token may come.
            if !failure.isDefinite {
                delay = min(
                    delay, backoff.nextDelay(retryAfter: nil, policy: turn.policy.backoff, random: &turn.random))
            }
            state = .refused(turn.arm(after: max(delay, pause), &actions), failure)
        } else {
            let delay = backoff.nextDelay(
                retryAfter: failure.retryAfter, policy: turn.policy.backoff, random: &turn.random)
            state = .waiting(turn.arm(after: delay, &actions), failure)
        }
        return actions
    }

    /// Cancels the request or timer of the current state.
    private func leave() -> [SyncAction] {
        switch state {
        case .awaitingHello(let request, let deadline): [.server(.abandon(request)), .timer(.disarm(deadline.serial))]
        case .waiting(let timer, _), .storeFailed(let timer, _), .refused(let timer, _):
            [.timer(.disarm(timer.serial))]
        case .down, .online: []
        }
    }
}

extension TransportError {
    /// Returns the refusal of a token that belongs to another account than the database.
    package static func otherAccount(_ account: AccountID, than owner: AccountID) -> TransportError {
        TransportError(
            .otherAccount,
            "the token belongs to '\(account)', but this database belongs to '\(owner)': log in as '\(owner)', or use another database",
            isDefinite: true)
    }
}

extension ServerHello {
    /// Returns the reason why the database must not talk to this server, or nil when it may.
    ///
    /// - Parameter account: The owner of the database; nil when it has none yet.
    package func refusal(for account: AccountID?) -> TransportError? {
        if !protocolVersions.contains(ProtocolVersion.current) {
            return TransportError(
                .incompatible,
                "the server supports versions \(protocolVersions.lowerBound) to \(protocolVersions.upperBound) of the protocol; this build needs version \(ProtocolVersion.current)",
                isDefinite: true)
        }
        if let account, account != self.account { return .otherAccount(self.account, than: account) }
        return nil
    }
}
