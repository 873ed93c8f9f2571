package import SyncCore
import SyncModel

/// Drives a session with what was recorded, and compares what it does with what it did then.
package struct Replay {
    /// Nil before the first start.
    private var session: SessionMachine?
    private var policy = SyncPolicy()
    private var turns = 0

    package init() {}

    /// One entry, done again.
    package enum Step {
        case start(RecordedStart)
        /// - `number`: of the turn in the recording, from 1.
        case turn(number: Int, RecordedTurn, actions: [String], status: SyncStatus)
    }

    /// Where the session went another way.
    package struct Difference: Hashable, Sendable {
        /// Of the turn at which it was seen, from 1; for a state, of the turn after it.
        package let turn: Int
        package let what: What

        package enum What: Hashable, Sendable {
            /// The first action that is not the recorded one; nil where there is none.
            case action(number: Int, then: String?, now: String?)
            /// The session asked for more or for fewer random numbers.
            case draws(then: Int, now: Int)
            /// All actions were the same, and yet the session is not where the recorded one was.
            case state
        }
    }

    /// Takes the next entry. Goes on after a difference with what the session is now, up to the next start.
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
        guard start.continues, let session, Redaction.wordless.session(session) != start.session else { return nil }
        return Difference(turn: turns + 1, what: .state)
    }

    private mutating func follow(_ turn: RecordedTurn) -> (step: Step, difference: Difference?) {
        turns += 1
        var session = session ?? SessionMachine()
        let random = RecordedRandom(turn.draws)
        let actions = session.handle(turn.event, now: turn.at, policy: policy, random: random)
            .map { ActionWords.text(Redaction.wordless.action($0)) }
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

/// Gives the recorded numbers again, and notes how many were asked for.
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

    /// Behind the last one, numbers that differ: what asks for more is told as a difference, and the standard library
    /// would ask forever when it always got the same.
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
            "differs at turn \(turn), action \(number): then \(then ?? "nothing"); now \(now ?? "nothing")"
        case .draws(let then, let now):
            "differs at turn \(turn): then \(then) random numbers were drawn; now \(now)"
        case .state: "differs before turn \(turn): the session is not in the state in which it was then"
        }
    }
}
