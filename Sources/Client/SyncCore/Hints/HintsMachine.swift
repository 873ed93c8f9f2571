import SyncModel

/// Keeps the stream of hints open while there is contact. Correctness never depends on it.
///
///     closed → opening → open → waiting → opening
///
/// A stream counts as open once it has delivered a hint. Until then a change could be missed, so polls stay frequent. A
/// server begins each stream with the heads of its spaces, which covers commits made before the stream was opened.
package struct HintsMachine: Hashable, Sendable {
    package private(set) var state = State.closed
    package private(set) var backoff = Backoff()
    /// The time at which the current stream delivered its first hint; nil before that.
    package private(set) var openSince: Duration?
    /// Number of streams that have ended since the last hint.
    package private(set) var endsSinceHint = 0

    package enum State: Hashable, Sendable {
        case closed
        case opening(Serial)
        case open(Serial)
        case waiting(ArmedTimer)
    }

    init() {}

    /// Creates a machine in a recorded state.
    package init(state: State, backoff: Backoff, openSince: Duration?, endsSinceHint: Int) {
        self.state = state
        self.backoff = backoff
        self.openSince = openSince
        self.endsSinceHint = endsSinceHint
    }

    var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    mutating func contactMade(spaces: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        guard turn.policy.listensForHints, case .closed = state else { return [] }
        return open(spaces, &turn)
    }

    /// Opens a new stream, because a stream only covers the spaces that it was opened for.
    mutating func spacesChanged(to spaces: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        guard let stream else { return [] }
        return [.server(.closeHints(stream))] + open(spaces, &turn)
    }

    /// Returns whether the hint belongs to the current stream.
    mutating func hintReceived(_ stream: Serial, now: Duration) -> Bool {
        guard self.stream == stream else { return false }
        if !isOpen { openSince = now }
        state = .open(stream)
        endsSinceHint = 0
        return true
    }

    /// Whether a stream has ended since the last hint.
    var hasEnded: Bool { endsSinceHint > 0 }

    /// Whether the last two streams have ended without a hint in between: the server may be gone.
    ///
    /// The end of one stream is usually harmless, and the next one opens at once. Later failures say nothing new.
    var hasFailedTwice: Bool {
        if case .waiting = state { endsSinceHint == 2 } else { false }
    }

    /// - Parameter retryAfter: How long the server asked to wait before the next request for hints; nil if it did not
    ///   ask.
    mutating func ended(_ stream: Serial, retryAfter: Duration?, _ turn: inout Turn) -> [SyncAction] {
        guard self.stream == stream else { return [] }
        // The server begins each stream with a hint, so a hint does not show that streams last. If a proxy ends each
        // stream after its first hint, the waits must grow.
        if let openSince, turn.now - openSince >= turn.policy.pollInterval { backoff.reset() }
        openSince = nil
        endsSinceHint += 1
        var actions: [SyncAction] = []
        let delay = backoff.nextDelay(retryAfter: retryAfter, policy: turn.policy.backoff, random: &turn.random)
        state = .waiting(turn.arm(after: delay, &actions))
        return actions
    }

    mutating func timerFired(_ timer: Serial, spaces: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        guard case .waiting(let armed) = state, armed.serial == timer else { return [] }
        return open(spaces, &turn)
    }

    mutating func contactLost() -> [SyncAction] {
        defer { state = .closed }
        return switch state {
        case .closed: []
        case .opening(let stream), .open(let stream): [.server(.closeHints(stream))]
        case .waiting(let timer): [.timer(.disarm(timer.serial))]
        }
    }

    private mutating func open(_ spaces: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        let stream = turn.makeSerial()
        openSince = nil
        state = .opening(stream)
        return [.server(.send(stream, .hints(spaces)))]
    }

    private var stream: Serial? {
        switch state {
        case .opening(let stream), .open(let stream): stream
        case .closed, .waiting: nil
        }
    }
}
