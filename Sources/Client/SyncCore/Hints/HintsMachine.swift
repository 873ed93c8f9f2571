import SyncModel

/// Keeps the stream of hints open while there is contact. Correctness never depends on it.
///
///     closed → opening → open → waiting → opening
///
/// A stream is open once it has told something: until then news could be missed, and polls stay short. A server begins
/// each stream with the heads of its spaces, which also tells what was committed before it listened for news.
package struct HintsMachine: Hashable, Sendable {
    package private(set) var state = State.closed
    package private(set) var backoff = Backoff()

    package enum State: Hashable, Sendable {
        case closed
        case opening(Serial)
        case open(Serial)
        case waiting(ArmedTimer)
    }

    init() {}

    /// Hints that stand where a recording says.
    package init(state: State, backoff: Backoff) {
        self.state = state
        self.backoff = backoff
    }

    var isOpen: Bool {
        if case .open = state { true } else { false }
    }

    mutating func contactMade(spaces: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        guard turn.policy.listensForHints, case .closed = state else { return [] }
        return open(spaces, &turn)
    }

    /// A stream tells of the spaces that it was opened for: for more of them there is another one.
    mutating func spacesAdded(_ spaces: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        guard let stream else { return [] }
        return [.closeHints(stream)] + open(spaces, &turn)
    }

    /// Whether the hint is of the stream that is open now: proof that it works.
    mutating func heard(_ stream: Serial) -> Bool {
        guard self.stream == stream else { return false }
        state = .open(stream)
        backoff.reset()
        return true
    }

    /// - Parameter retryAfter: how long the server asked not to be asked for hints.
    mutating func ended(_ stream: Serial, retryAfter: Duration?, _ turn: inout Turn) -> [SyncAction] {
        guard self.stream == stream else { return [] }
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
        case .opening(let stream), .open(let stream): [.closeHints(stream)]
        case .waiting(let timer): [.disarm(timer.serial)]
        }
    }

    private mutating func open(_ spaces: [SpaceID], _ turn: inout Turn) -> [SyncAction] {
        let stream = turn.makeSerial()
        state = .opening(stream)
        return [.openHints(stream, spaces)]
    }

    private var stream: Serial? {
        switch state {
        case .opening(let stream), .open(let stream): stream
        case .closed, .waiting: nil
        }
    }
}
