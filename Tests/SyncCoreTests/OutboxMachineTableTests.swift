import SyncModel
import Testing

@testable import SyncCore

@Suite struct OutboxMachineTableTests {
    private static func machine(_ state: OutboxMachine.State, setbacks: Int = 0) -> OutboxMachine {
        OutboxMachine(
            state: state, summary: OutboxSummary(waiting: 2, answered: 1), backoff: Backoff(failures: 1),
            shrunkLimit: nil, identityRefusals: 0, refusals: 0, wrongConfirmations: 0, setbacks: setbacks)
    }

    private static let push = OutboxMachine.PushInFlight(
        identity: SessionHarness.identity, count: 2, first: .first, spaces: [.default])
    private static let lone = OutboxMachine.PushInFlight(
        identity: SessionHarness.identity, count: 1, first: .first, spaces: [.default])
    private static let lost = TransportError(.unreachable, "no route")
    private static let busy = TransportError(.throttled, "busy", retryAfter: .seconds(90))
    private static let broken = StoreError(.diskFull, "the disk is full")
    private static let counts = OutboxSummary(waiting: 5)

    private static func pushEnded(
        _ name: String, _ result: Result<PushResponse, TransportError>, of request: Serial = .request
    ) -> MachineTable<OutboxMachine>.Event {
        (
            name,
            { machine, turn in
                let (actions, report) = machine.pushEnded(request, result, &turn)
                return (actions, report?.name)
            }
        )
    }

    private static func storeFailed(_ task: StoreTask.OutboxTask) -> MachineTable<OutboxMachine>.Event {
        ("\(task) failed", { ($0.storeFailed(task, broken, &$1), nil) })
    }

    private static func told(
        _ name: String, _ change: @escaping (inout OutboxMachine) -> Void
    ) -> MachineTable<OutboxMachine>.Event {
        (
            name,
            { machine, _ in
                change(&machine)
                return ([], nil)
            }
        )
    }

    private static func resultsRecorded(
        _ name: String, _ summary: OutboxSummary
    ) -> MachineTable<OutboxMachine>.Event {
        (
            name,
            { machine, turn in
                let (actions, report) = machine.resultsRecorded(summary, &turn)
                return (actions, report?.name)
            }
        )
    }

    private static var table: MachineTable<OutboxMachine> {
        MachineTable(
            states: [
                ("resting", machine(.resting)), ("taking", machine(.taking)),
                ("in flight", machine(.inFlight(request: .request, deadline: .armed, push: push))),
                (
                    "in flight again",
                    machine(.inFlight(request: .request, deadline: .armed, push: lone), setbacks: 1)
                ),
                ("recording", machine(.recording(spaces: [.default]))),
                ("waiting", machine(.waiting(.armed, .transport(lost)))),
                ("paused", machine(.waiting(.armed, .transport(busy)))),
                ("in conflict", machine(.waiting(.armed, .identity("a copy")))), ("withdrawing", machine(.withdrawing)),
                ("renewing", machine(.renewing)),
            ],
            events: [
                told("outbox changed") { $0.outboxChanged(counts) },
                told("count failed") { $0.countFailed() },
                told("contact made") { $0.contactMade() },
                ("advance", { ($0.advance(to: SessionHarness.hello, &$1), nil) }),
                ("advance without contact", { ($0.advance(to: nil, &$1), nil) }),
                told("nothing to push") { $0.nothingToPush(counts) },
                (
                    "batch taken",
                    {
                        (
                            $0.batchTaken(
                                SessionHarness.batch(0...1, outbox: counts), hello: SessionHarness.hello, &$1), nil
                        )
                    }
                ),
                (
                    "batch without contact",
                    { ($0.batchTaken(SessionHarness.batch(0...1, outbox: counts), hello: nil, &$1), nil) }
                ),
                pushEnded("answered", .success(SessionHarness.results(0...1, version: 1))),
                pushEnded("answered wrongly", .success(SessionHarness.results(1...1, version: 1))),
                pushEnded("gap", .success(.refused(.gap(expected: .first)))),
                pushEnded("epoch changed", .success(.refused(.epochChanged(SessionHarness.epoch)))),
                pushEnded("too large", .failure(TransportError(.tooLarge, "too large"))),
                pushEnded("push lost", .failure(lost)), pushEnded("push throttled", .failure(busy)),
                pushEnded("late response", .success(SessionHarness.results(0...1, version: 1)), of: .lateRequest),
                resultsRecorded("results recorded", counts),
                resultsRecorded("results unknown", OutboxSummary(waiting: 1, held: 1)),
                told("withdrawn") { $0.transactionWithdrawn(counts) },
                (
                    "session changed",
                    { machine, _ in
                        (machine.sessionChanged(SessionHarness.stored(outbox: counts), isNewEpoch: false), nil)
                    }
                ),
                (
                    "epoch adopted",
                    { machine, _ in
                        (machine.sessionChanged(SessionHarness.stored(outbox: counts), isNewEpoch: true), nil)
                    }
                ),
                storeFailed(.takingBatch), storeFailed(.recordingResults), storeFailed(.withdrawing),
                storeFailed(.renewingIdentity), ("everything is shown", { ($0.everythingIsShown(&$1), nil) }),
                (
                    "timer",
                    { machine, turn in
                        let (actions, report) = machine.timerFired(.timer, &turn)
                        return (actions, report?.name)
                    }
                ),
                (
                    "late timer",
                    { machine, turn in
                        let (actions, report) = machine.timerFired(.lateTimer, &turn)
                        return (actions, report?.name)
                    }
                ), ("progress requested", { machine, _ in (machine.progressRequested(), nil) }),
                ("route changed", { machine, _ in (machine.routeChanged(), nil) }),
                ("stop", { machine, _ in (machine.stop(), nil) }),
            ],
            describe: { StateName($0.state).rawValue })
    }

    /// Each line has a state, an event, the next state, the actions, and, in parentheses, the report to the session.
    /// All other pairs of a state and an event have no effect.
    private static let moves = """
        resting | outbox changed | resting |
        resting | advance | taking | take
        resting | results recorded | resting |
        resting | results unknown | resting |
        resting | withdrawn | resting |
        resting | session changed | resting |
        resting | epoch adopted | resting |
        resting | everything is shown | renewing | renew
        taking | outbox changed | taking |
        taking | nothing to push | resting |
        taking | batch taken | in flight | push arm
        taking | batch without contact | resting |
        taking | results recorded | taking |
        taking | results unknown | taking |
        taking | withdrawn | taking |
        taking | session changed | taking |
        taking | epoch adopted | taking |
        taking | takingBatch failed | waiting | arm
        taking | stop | resting |
        in flight | outbox changed | in flight |
        in flight | answered | recording | disarm#2 record
        in flight | answered wrongly | waiting | disarm#2 arm
        in flight | gap | renewing | disarm#2 renew
        in flight | epoch changed | resting | disarm#2 (epoch doubted)
        in flight | too large | resting | disarm#2
        in flight | push lost | resting | disarm#2 (contact lost)
        in flight | push throttled | waiting | disarm#2 arm
        in flight | results recorded | in flight |
        in flight | results unknown | in flight |
        in flight | withdrawn | in flight |
        in flight | session changed | in flight |
        in flight | epoch adopted | resting | abandon#1 disarm#2
        in flight | timer | resting | abandon#1 (contact lost)
        in flight | stop | resting | abandon#1 disarm#2
        in flight again | outbox changed | in flight |
        in flight again | answered | waiting | disarm#2 arm
        in flight again | answered wrongly | waiting | disarm#2 arm
        in flight again | gap | renewing | disarm#2 renew
        in flight again | epoch changed | waiting | disarm#2 arm (epoch doubted)
        in flight again | too large | waiting | disarm#2 arm
        in flight again | push lost | waiting | disarm#2 arm (contact lost)
        in flight again | push throttled | waiting | disarm#2 arm
        in flight again | results recorded | in flight |
        in flight again | results unknown | in flight |
        in flight again | withdrawn | in flight |
        in flight again | session changed | in flight |
        in flight again | epoch adopted | resting | abandon#1 disarm#2
        in flight again | timer | waiting | abandon#1 arm (contact lost)
        in flight again | stop | resting | abandon#1 disarm#2
        recording | outbox changed | recording |
        recording | results recorded | resting | (answered in default)
        recording | results unknown | waiting | arm (answered in default)
        recording | withdrawn | recording |
        recording | session changed | recording |
        recording | epoch adopted | recording |
        recording | recordingResults failed | waiting | arm
        recording | stop | resting |
        waiting | outbox changed | waiting |
        waiting | results recorded | waiting |
        waiting | results unknown | waiting |
        waiting | withdrawn | waiting |
        waiting | session changed | waiting |
        waiting | epoch adopted | waiting |
        waiting | timer | resting |
        waiting | progress requested | resting | disarm#2
        waiting | route changed | resting | disarm#2
        waiting | stop | resting | disarm#2
        paused | outbox changed | waiting |
        paused | results recorded | waiting |
        paused | results unknown | waiting |
        paused | withdrawn | waiting |
        paused | session changed | waiting |
        paused | epoch adopted | waiting |
        paused | timer | resting |
        paused | stop | resting | disarm#2
        in conflict | outbox changed | in conflict |
        in conflict | results recorded | in conflict |
        in conflict | results unknown | in conflict |
        in conflict | withdrawn | in conflict |
        in conflict | session changed | in conflict |
        in conflict | epoch adopted | in conflict |
        in conflict | timer | renewing | renew
        in conflict | stop | resting | disarm#2
        withdrawing | outbox changed | withdrawing |
        withdrawing | results recorded | withdrawing |
        withdrawing | results unknown | withdrawing |
        withdrawing | withdrawn | resting |
        withdrawing | session changed | withdrawing |
        withdrawing | epoch adopted | withdrawing |
        withdrawing | withdrawing failed | waiting | arm
        withdrawing | stop | resting |
        renewing | outbox changed | renewing |
        renewing | results recorded | renewing |
        renewing | results unknown | renewing |
        renewing | withdrawn | renewing |
        renewing | session changed | resting |
        renewing | epoch adopted | resting |
        renewing | renewingIdentity failed | waiting | arm
        renewing | stop | resting |
        """

    @Test func `the table lists each state`() {
        #expect(Set(Self.table.states.map { StateName($0.machine.state) }) == Set(StateName.allCases))
    }

    @Test func `each event moves each state as the table says, or not at all`() {
        #expect(Self.table.moves == Self.moves.split(separator: "\n").map(String.init))
    }

    @Test func `a repeated response is ignored`() {
        #expect(
            Self.table.repeatable([
                "answered", "answered wrongly", "gap", "epoch changed", "too large", "push lost", "push throttled",
                "timer", "nothing to push", "batch taken",
            ]) == [])
    }
}

extension OutboxMachine.Report {
    fileprivate var name: String {
        switch self {
        case .answered(let spaces): "answered in \(spaces.map(\.rawValue).joined(separator: " "))"
        case .contactLost: "contact lost"
        case .epochDoubted: "epoch doubted"
        }
    }
}

private enum StateName: String, CaseIterable {
    case resting, taking, inFlight = "in flight", recording, inConflict = "in conflict", waiting, withdrawing, renewing

    init(_ state: OutboxMachine.State) {
        switch state {
        case .resting: self = .resting
        case .taking: self = .taking
        case .inFlight: self = .inFlight
        case .recording: self = .recording
        case .waiting(_, .identity): self = .inConflict
        case .waiting: self = .waiting
        case .withdrawing: self = .withdrawing
        case .renewing: self = .renewing
        }
    }
}
