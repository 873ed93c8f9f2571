package import SyncCore
import SyncModel

/// Runs a session with recorded events, and compares its actions with the recorded ones.
package struct Replay {
    /// Nil before the first start.
    private var session: SessionMachine?
    private var policy = SyncPolicy()
    private var turns = 0

    package init() {}

    /// One replayed entry.
    package enum Step {
        case start(RecordedStart)
        /// The number is that of the turn in the recording, counted from 1.
        case turn(number: Int, RecordedTurn, actions: [String], status: SyncStatus)
    }

    /// The point at which the session diverged from the recording.
    package struct Difference: Hashable, Sendable {
        /// The turn, counted from 1, in which the difference was seen. For a state, it is the following turn.
        package let turn: Int
        package let what: What

        package enum What: Hashable, Sendable {
            /// The first action that differs from the recorded one; nil stands for no action.
            case action(number: Int, then: String?, now: String?)
            /// The session drew more or fewer random numbers than recorded.
            case draws(then: Int, now: Int)
            /// All actions were the same, but the session is not in the recorded state.
            case state
        }
    }

    /// Replays the next entry. After a difference, continues with the session's own state until the next start.
    package mutating func follow(_ entry: RecordingEntry) -> (step: Step, difference: Difference?) {
        switch entry {
        case .start(let start): (.start(start), begin(start))
        case .turn(let turn): follow(turn)
        }
    }

    private mutating func begin(_ start: RecordedStart) -> Difference? {
        defer {
            session = start.session
            policy = start.policy
        }
        guard start.continues, let session, Redaction.messagesOnly.session(session) != start.session else { return nil }
        return Difference(turn: turns + 1, what: .state)
    }

    private mutating func follow(_ turn: RecordedTurn) -> (step: Step, difference: Difference?) {
        turns += 1
        var session = session ?? SessionMachine()
        let random = RecordedRandom(turn.draws)
        let actions = session.handle(turn.event, now: turn.at, policy: policy, random: random)
            .map { Redaction.messagesOnly.action($0).recordedText }
        self.session = session
        let step = Step.turn(number: turns, turn, actions: actions, status: session.status(now: turn.at))
        if let what = Self.difference(then: turn.actions, now: actions) {
            return (step, Difference(turn: turns, what: what))
        }
        guard random.tape.asked == turn.draws.count else {
            return (step, Difference(turn: turns, what: .draws(then: turn.draws.count, now: random.tape.asked)))
        }
        return (step, nil)
    }

    private static func difference(then: [String], now: [String]) -> Difference.What? {
        for index in 0..<max(then.count, now.count) {
            let (was, does) = (index < then.count ? then[index] : nil, index < now.count ? now[index] : nil)
            if was != does { return .action(number: index + 1, then: was, now: does) }
        }
        return nil
    }
}

/// Returns the recorded numbers again, and counts how many were drawn.
private struct RecordedRandom: RandomNumberGenerator {
    final class Tape {
        let numbers: [UInt64]
        var asked = 0

        init(_ numbers: [UInt64]) {
            self.numbers = numbers
        }
    }

    let tape: Tape

    init(_ numbers: [UInt64]) {
        tape = Tape(numbers)
    }

    /// After the last recorded number, returns distinct numbers. Extra draws are reported as a difference; if all were
    /// equal, the standard library could draw forever.
    mutating func next() -> UInt64 {
        defer { tape.asked += 1 }
        guard tape.asked >= tape.numbers.count else { return tape.numbers[tape.asked] }
        return UInt64(truncatingIfNeeded: tape.asked + 1) &* 0x9E37_79B9_7F4A_7C15
    }
}

extension Replay.Difference: CustomStringConvertible {
    package var description: String {
        switch what {
        case .action(let number, let then, let now):
            "differs at turn \(turn), action \(number): recorded: \(then ?? "nothing"); replayed: \(now ?? "nothing")"
        case .draws(let then, let now):
            "differs at turn \(turn) in the count of random numbers: recorded: \(then); replayed: \(now)"
        case .state: "differs before turn \(turn): the session is not in the recorded state"
        }
    }
}
