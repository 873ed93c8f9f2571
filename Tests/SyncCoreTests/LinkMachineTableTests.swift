import SyncModel
import Testing

@testable import SyncCore

@Suite struct LinkMachineTableTests {
    private static func machine(_ state: LinkMachine.State) -> LinkMachine {
        LinkMachine(state: state, backoff: Backoff(failures: 1), doubts: 1, lateResponses: 1)
    }

    private static let lost = TransportError(.unreachable, "no route")
    private static let pause = TransportError(.throttled, "busy", retryAfter: .seconds(90))
    private static let refusal = TransportError(.unauthorized, "unknown token")

    private static let full = StoreError(.diskFull, "the disk is full")

    private static var table: MachineTable<LinkMachine> {
        MachineTable(
            states: [
                ("down", machine(.down("no carrier"))),
                ("awaiting", machine(.awaitingHello(request: .request, deadline: .armed))),
                ("online", machine(.online(SessionHarness.hello))),
                ("waiting", machine(.waiting(.armed, lost))),
                ("paused", machine(.waiting(.armed, pause))),
                ("store failed", machine(.storeFailed(.armed, full))),
                ("refused", machine(.refused(.armed, refusal))),
            ],
            events: [
                ("link up", { ($0.linkChanged(.up, &$1), nil) }),
                ("link down", { ($0.linkChanged(.down("cut"), &$1), nil) }),
                ("hello", { ($0.helloEnded(.request, .success(SessionHarness.hello), account: nil, &$1), nil) }),
                (
                    "hello of another account",
                    {
                        let owner = AccountID(rawValue: "bo")
                        return ($0.helloEnded(.request, .success(SessionHarness.hello), account: owner, &$1), nil)
                    }
                ),
                ("hello failed", { ($0.helloEnded(.request, .failure(lost), account: nil, &$1), nil) }),
                ("hello refused", { ($0.helloEnded(.request, .failure(refusal), account: nil, &$1), nil) }),
                (
                    "late hello",
                    { ($0.helloEnded(.lateRequest, .success(SessionHarness.hello), account: nil, &$1), nil) }
                ),
                ("timer", { ($0.timerFired(.timer, &$1), nil) }),
                ("late timer", { ($0.timerFired(.lateTimer, &$1), nil) }),
                ("contact lost", { ($0.contactLost(lost, &$1), nil) }),
                ("adoption failed", { ($0.adoptionFailed(full, &$1), nil) }),
                ("epoch doubted", { ($0.epochDoubted(&$1), nil) }),
                ("hello requested", { ($0.helloRequested(&$1), nil) }),
                ("contact requested", { ($0.contactRequested(&$1), nil) }),
                ("credentials changed", { ($0.credentialsChanged(&$1), nil) }),
                (
                    "exchange succeeded",
                    { machine, turn in
                        machine.exchangeSucceeded(isInSync: false, policy: turn.policy)
                        return ([], nil)
                    }
                ),
                (
                    "in sync",
                    { machine, turn in
                        machine.exchangeSucceeded(isInSync: true, policy: turn.policy)
                        return ([], nil)
                    }
                ),
                ("stop", { machine, _ in (machine.stop(), nil) }),
            ],
            describe: { machine in
                let state = StateName(machine.state).rawValue
                return "\(state), \(machine.backoff.failures) failures, \(machine.doubts) doubts"
            })
    }

    /// Each line has a state, an event, the next state with the counts of failures and doubts, and the actions. All
    /// other pairs of a state and an event have no effect.
    private static let moves = """
        down | link up | awaiting, 0 failures, 1 doubts | hello arm
        down | link down | down, 1 failures, 1 doubts |
        down | exchange succeeded | down, 0 failures, 1 doubts |
        down | in sync | down, 0 failures, 0 doubts |
        down | stop | down, 1 failures, 1 doubts |
        awaiting | link down | down, 1 failures, 1 doubts | abandon#1 disarm#2
        awaiting | hello | online, 1 failures, 1 doubts | disarm#2
        awaiting | hello of another account | refused, 1 failures, 1 doubts | disarm#2 arm
        awaiting | hello failed | waiting, 2 failures, 1 doubts | disarm#2 arm
        awaiting | hello refused | refused, 2 failures, 1 doubts | disarm#2 arm
        awaiting | timer | waiting, 2 failures, 1 doubts | abandon#1 arm
        awaiting | credentials changed | awaiting, 1 failures, 1 doubts | abandon#1 disarm#2 hello arm
        awaiting | exchange succeeded | awaiting, 0 failures, 1 doubts |
        awaiting | in sync | awaiting, 0 failures, 0 doubts |
        awaiting | stop | down, 1 failures, 1 doubts | abandon#1 disarm#2
        online | link down | down, 1 failures, 1 doubts |
        online | contact lost | waiting, 2 failures, 1 doubts | arm
        online | adoption failed | store failed, 2 failures, 1 doubts | arm
        online | epoch doubted | waiting, 2 failures, 2 doubts | arm
        online | hello requested | awaiting, 1 failures, 1 doubts | hello arm
        online | credentials changed | awaiting, 1 failures, 1 doubts | hello arm
        online | exchange succeeded | online, 0 failures, 1 doubts |
        online | in sync | online, 0 failures, 0 doubts |
        online | stop | down, 1 failures, 1 doubts |
        waiting | link up | awaiting, 0 failures, 1 doubts | disarm#2 hello arm
        waiting | link down | down, 1 failures, 1 doubts | disarm#2
        waiting | timer | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        waiting | contact requested | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        waiting | credentials changed | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        waiting | exchange succeeded | waiting, 0 failures, 1 doubts |
        waiting | in sync | waiting, 0 failures, 0 doubts |
        waiting | stop | down, 1 failures, 1 doubts | disarm#2
        paused | link up | awaiting, 0 failures, 1 doubts | disarm#2 hello arm
        paused | link down | down, 1 failures, 1 doubts | disarm#2
        paused | timer | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        paused | exchange succeeded | waiting, 0 failures, 1 doubts |
        paused | in sync | waiting, 0 failures, 0 doubts |
        paused | stop | down, 1 failures, 1 doubts | disarm#2
        store failed | link up | awaiting, 0 failures, 1 doubts | disarm#2 hello arm
        store failed | link down | down, 1 failures, 1 doubts | disarm#2
        store failed | timer | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        store failed | contact requested | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        store failed | credentials changed | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        store failed | exchange succeeded | store failed, 0 failures, 1 doubts |
        store failed | in sync | store failed, 0 failures, 0 doubts |
        store failed | stop | down, 1 failures, 1 doubts | disarm#2
        refused | link down | down, 1 failures, 1 doubts | disarm#2
        refused | timer | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        refused | contact requested | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        refused | credentials changed | awaiting, 1 failures, 1 doubts | disarm#2 hello arm
        refused | exchange succeeded | refused, 0 failures, 1 doubts |
        refused | in sync | refused, 0 failures, 0 doubts |
        refused | stop | down, 1 failures, 1 doubts | disarm#2
        """

    @Test func `the table lists each state`() {
        #expect(Set(Self.table.states.map { StateName($0.machine.state) }) == Set(StateName.allCases))
    }

    @Test func `each event moves each state as the table says, or not at all`() {
        #expect(Self.table.moves == Self.moves.split(separator: "\n").map(String.init))
    }

    @Test func `a repeated response is ignored`() {
        #expect(
            Self.table.repeatable(["hello", "hello of another account", "hello failed", "hello refused", "timer"]) == []
        )
    }
}

private enum StateName: String, CaseIterable {
    case down, awaiting, online, waiting, storeFailed = "store failed", refused

    init(_ state: LinkMachine.State) {
        switch state {
        case .down: self = .down
        case .awaitingHello: self = .awaiting
        case .online: self = .online
        case .waiting: self = .waiting
        case .storeFailed: self = .storeFailed
        case .refused: self = .refused
        }
    }
}
