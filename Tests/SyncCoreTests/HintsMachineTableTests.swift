import SyncModel
import Testing

@testable import SyncCore

@Suite struct HintsMachineTableTests {
    private static func machine(_ state: HintsMachine.State) -> HintsMachine {
        HintsMachine(state: state, backoff: Backoff(failures: 1), openSince: nil, endsSinceHint: 1)
    }

    private static var table: MachineTable<HintsMachine> {
        MachineTable(
            states: [
                ("closed", machine(.closed)), ("opening", machine(.opening(.request))),
                ("open", machine(.open(.request))),
                ("waiting", machine(.waiting(.armed))),
            ],
            events: [
                ("contact", { ($0.contactMade(spaces: [.default], &$1), nil) }),
                (
                    "contact without hints",
                    { machine, turn in
                        var policy = turn.policy
                        policy.listensForHints = false
                        var quiet = Turn(now: turn.now, policy: policy, random: turn.random, nextSerial: 100)
                        return (machine.contactMade(spaces: [.default], &quiet), nil)
                    }
                ),
                ("spaces added", { ($0.spacesChanged(to: [.default, "letters"], &$1), nil) }),
                ("hint", { ([], $0.hintReceived(.request, now: $1.now) ? "heard" : nil) }),
                ("late hint", { ([], $0.hintReceived(.lateRequest, now: $1.now) ? "heard" : nil) }),
                ("ended", { ($0.ended(.request, retryAfter: nil, &$1), nil) }),
                ("late end", { ($0.ended(.lateRequest, retryAfter: nil, &$1), nil) }),
                ("timer", { ($0.timerFired(.timer, spaces: [.default], &$1), nil) }),
                ("late timer", { ($0.timerFired(.lateTimer, spaces: [.default], &$1), nil) }),
                ("contact lost", { machine, _ in (machine.contactLost(), nil) }),
            ],
            describe: { "\(StateName($0.state).rawValue), \($0.backoff.failures) failures" })
    }

    /// Each line has a state, an event, the next state with the count of failures, the actions, and, in parentheses,
    /// the report to the session. All other pairs of a state and an event have no effect.
    private static let moves = """
        closed | contact | opening, 1 failures | hints
        opening | spaces added | opening, 1 failures | close#1 hints
        opening | hint | open, 1 failures | (heard)
        opening | ended | waiting, 2 failures | arm
        opening | contact lost | closed, 1 failures | close#1
        open | spaces added | opening, 1 failures | close#1 hints
        open | hint | open, 1 failures | (heard)
        open | ended | waiting, 2 failures | arm
        open | contact lost | closed, 1 failures | close#1
        waiting | timer | opening, 1 failures | hints
        waiting | contact lost | closed, 1 failures | disarm#2
        """

    @Test func `the table lists each state`() {
        #expect(Set(Self.table.states.map { StateName($0.machine.state) }) == Set(StateName.allCases))
    }

    @Test func `each event moves each state as the table says, or not at all`() {
        #expect(Self.table.moves == Self.moves.split(separator: "\n").map(String.init))
    }

    @Test func `a repeated end or timer is ignored`() {
        #expect(Self.table.repeatable(["ended", "timer", "contact lost"]) == [])
    }
}

private enum StateName: String, CaseIterable {
    case closed, opening, open, waiting

    init(_ state: HintsMachine.State) {
        switch state {
        case .closed: self = .closed
        case .opening: self = .opening
        case .open: self = .open
        case .waiting: self = .waiting
        }
    }
}
