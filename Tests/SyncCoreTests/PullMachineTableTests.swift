import SyncModel
import Testing

@testable import SyncCore

@Suite struct PullMachineTableTests {
    private static let stored = StoredSpace(
        space: .default, cursor: Cursor(rawValue: "at-4"), version: Version(4), isComplete: true)
    private static let page = SessionHarness.page(version: Version(5))
    private static let lost = TransportError(.unreachable, "no route")
    private static let busy = TransportError(.throttled, "busy", retryAfter: .seconds(90))
    private static let broken = StoreError(.diskFull, "the disk is full")
    private static let hello: ServerHello? = SessionHarness.hello
    private static let withoutAccess = VacatedSpace(
        stored: StoredSpace(space: .default, cursor: nil, version: .zero, isComplete: false, hasAccess: false),
        outbox: OutboxSummary(), removedRecords: 3)
    private static let reached = StoredSpace(
        space: .default, cursor: page.cursor, version: page.version, isComplete: true)

    private static let receipt = CommitReceipt(
        space: .default, version: Version(9), cursor: Cursor(rawValue: "at-9"))
    private static let noticed = StoredSpace(
        space: .default, cursor: stored.cursor, version: stored.version, isComplete: true,
        notices: NoticeRequest(clients: [SessionHarness.identity.client], after: 7))

    private static func machine(_ state: PullMachine.State) -> PullMachine {
        PullMachine(
            state: state, stored: stored, head: stored.version, hasCaughtUp: true, backoff: Backoff(failures: 1),
            resets: 0, contradictions: 0, trail: nil, pace: PullPace(), consent: DeleteConsent())
    }

    private static func pullEnded(
        _ name: String, _ result: Result<PullResponse, TransportError>, of request: Serial = .request
    ) -> MachineTable<PullMachine>.Event {
        (
            name,
            { machine, turn in
                let (actions, report) = machine.pullEnded(request, result, epoch: SessionHarness.epoch, &turn)
                return (actions, report?.name)
            }
        )
    }

    private static func applied(_ name: String, _ result: ApplyResult) -> MachineTable<PullMachine>.Event {
        (
            name,
            { machine, turn in
                let (actions, report) = machine.pageApplied(result, hello: hello, hintsAreOpen: false, &turn)
                return (actions, report?.name)
            }
        )
    }

    private static func vacated(_ name: String, _ result: VacateResult) -> MachineTable<PullMachine>.Event {
        (
            name,
            { machine, turn in
                let (actions, report) = machine.vacated(result, hello: hello, &turn)
                return (actions, report?.name)
            }
        )
    }

    private static func storeFailed(
        _ task: StoreTask.SpaceTask, _ failure: StoreError = broken
    ) -> MachineTable<PullMachine>.Event {
        ("\(task) failed: \(failure.code.rawValue)", { ($0.storeFailed(task, failure, &$1), nil) })
    }

    private static func changed(
        _ name: String, _ change: @escaping (inout PullMachine) -> Void
    ) -> MachineTable<PullMachine>.Event {
        (
            name,
            { machine, _ in
                change(&machine)
                return ([], nil)
            }
        )
    }

    private static func timer(
        _ name: String, _ serial: Serial, hello: ServerHello? = hello
    ) -> MachineTable<PullMachine>.Event {
        (
            name,
            { machine, turn in
                let (actions, report) = machine.timerFired(serial, hello: hello, &turn)
                return (actions, report?.name)
            }
        )
    }

    private static var table: MachineTable<PullMachine> {
        MachineTable(
            states: [
                ("resting", machine(.resting(poll: .armed))), ("idle", machine(.resting(poll: nil))),
                ("pulling", machine(.pulling(request: .request, deadline: .armed, cursor: stored.cursor, then: .rest))),
                ("applying", machine(.applying(page, then: .rest))), ("resetting", machine(.resetting(then: .rest))),
                ("vacating", machine(.vacating(then: .rest))), ("waiting", machine(.waiting(.armed, .transport(lost)))),
                ("paused", machine(.waiting(.armed, .transport(busy)))),
                ("before a snapshot", machine(.waiting(.armed, .reset(.horizon)))),
                ("braked", machine(.braked(page, deletes: 90, of: 100, poll: .armed))),
                ("braked before vacating", machine(.braked(nil, deletes: 90, of: 90, poll: .armed))),
            ],
            events: [
                ("requested", { ($0.requested(by: .request, hello: hello, &$1), nil) }),
                ("requested without contact", { ($0.requested(by: .request, hello: nil, &$1), nil) }),
                ("response to a push", { ($0.requested(by: .response, hello: hello, &$1), nil) }),
                ("hint", { ($0.requested(by: .hint(Version(9)), hello: hello, &$1), nil) }),
                ("equal hint", { ($0.requested(by: .hint(stored.version), hello: hello, &$1), nil) }),
                ("old hint", { ($0.requested(by: .hint(Version(1)), hello: hello, &$1), nil) }),
                pullEnded("page", .success(.page(page))),
                pullEnded(
                    "page of another epoch",
                    .success(.page(SessionHarness.page(version: Version(5), epoch: Epoch(rawValue: "another"))))),
                pullEnded("page that goes back", .success(.page(SessionHarness.page(version: Version(3))))),
                pullEnded("must reset", .success(.mustReset(.horizon))),
                pullEnded("other epoch", .success(.mustReset(.epoch))),
                pullEnded("no access", .success(.noAccess(SessionHarness.epoch))),
                pullEnded("pull lost", .failure(lost)), pullEnded("pull throttled", .failure(busy)),
                pullEnded("late page", .success(.page(page)), of: .lateRequest),
                applied("applied", .applied(reached, outbox: OutboxSummary(), changedRecords: 1)),
                applied("applying braked", .braked(deletes: 90, of: 100)),
                ("cursor reset", { ($0.cursorReset(hello: hello, &$1), nil) }),
                vacated("vacated", .vacated(withoutAccess)), vacated("vacating braked", .braked(deletes: 4, of: 4)),
                storeFailed(.applyingPage), storeFailed(.applyingPage, StoreError(.contradiction, "uid 7")),
                storeFailed(.resettingCursor), storeFailed(.vacating),
                ("deletes allowed", { machine, _ in (machine.deletesAllowed(epoch: SessionHarness.epoch), nil) }),
                timer("timer", .timer), timer("timer without contact", .timer, hello: nil),
                timer("late timer", .lateTimer), ("hints lost", { ($0.pollSooner(&$1), nil) }),
                ("route changed", { machine, _ in (machine.routeChanged(), nil) }),
                ("session changed", { machine, _ in (machine.sessionChanged(stored), nil) }),
                ("stop", { machine, _ in (machine.stop(), nil) }),
                changed("confirmed") { $0.confirmed(by: receipt) },
                changed("identity changed") { $0.identityChanged(noticed) },
            ],
            describe: { machine in
                switch machine.state {
                case .resting(nil): "idle"
                case .resting: "resting"
                case .pulling(_, _, _, let then): "pulling, then \(then.name)"
                case .applying(_, let then): "applying, then \(then.name)"
                case .resetting(let then): "resetting, then \(then.name)"
                case .vacating(let then): "vacating, then \(then.name)"
                case .waiting: "waiting"
                case .braked: "braked"
                }
            })
    }

    /// Each line has a state, an event, the next state, the actions, and, in parentheses, the report to the session.
    /// All other pairs of a state and an event have no effect.
    private static let moves = """
        resting | requested | pulling, then rest | disarm#2 pull arm
        resting | requested without contact | idle | disarm#2
        resting | response to a push | pulling, then rest | disarm#2 pull arm
        resting | hint | pulling, then rest | disarm#2 pull arm
        resting | old hint | resting | disarm#2 arm
        resting | timer | pulling, then rest | pull arm
        resting | timer without contact | idle |
        resting | hints lost | resting | disarm#2 arm
        resting | session changed | idle | disarm#2
        resting | stop | idle | disarm#2
        resting | confirmed | resting |
        resting | identity changed | resting |
        idle | requested | pulling, then rest | pull arm
        idle | response to a push | pulling, then rest | pull arm
        idle | hint | pulling, then rest | pull arm
        idle | session changed | idle |
        idle | confirmed | idle |
        idle | identity changed | idle |
        pulling | requested | pulling, then again |
        pulling | requested without contact | pulling, then again |
        pulling | response to a push | pulling, then again |
        pulling | hint | pulling, then until 9 |
        pulling | page | applying, then rest | disarm#2 apply
        pulling | page of another epoch | idle | disarm#2 (epoch doubted)
        pulling | page that goes back | waiting | disarm#2 arm
        pulling | must reset | resetting, then rest | disarm#2 reset
        pulling | other epoch | idle | disarm#2 (epoch doubted)
        pulling | no access | vacating, then rest | disarm#2 vacate
        pulling | pull lost | waiting | disarm#2 arm (contact lost)
        pulling | pull throttled | waiting | disarm#2 arm
        pulling | timer | idle | abandon#1 (contact lost)
        pulling | timer without contact | idle | abandon#1 (contact lost)
        pulling | session changed | idle | abandon#1 disarm#2
        pulling | stop | idle | abandon#1 disarm#2
        pulling | confirmed | pulling, then rest |
        pulling | identity changed | pulling, then rest |
        applying | requested | applying, then again |
        applying | requested without contact | applying, then again |
        applying | response to a push | applying, then again |
        applying | hint | applying, then until 9 |
        applying | applied | resting | checkpoint arm (progressed)
        applying | applying braked | braked | arm
        applying | applyingPage failed: diskFull | waiting | arm
        applying | applyingPage failed: contradiction | waiting | arm
        applying | session changed | idle |
        applying | stop | idle |
        applying | confirmed | applying, then rest |
        applying | identity changed | applying, then rest |
        resetting | hint | resetting, then rest |
        resetting | cursor reset | pulling, then rest | pull arm
        resetting | resettingCursor failed: diskFull | waiting | arm
        resetting | session changed | idle |
        resetting | stop | idle |
        resetting | confirmed | resetting, then rest |
        resetting | identity changed | resetting, then rest |
        vacating | requested | vacating, then again |
        vacating | requested without contact | vacating, then again |
        vacating | response to a push | vacating, then again |
        vacating | hint | vacating, then until 9 |
        vacating | vacated | resting | checkpoint arm (progressed)
        vacating | vacating braked | braked | arm
        vacating | vacating failed: diskFull | waiting | arm
        vacating | session changed | idle |
        vacating | stop | idle |
        vacating | confirmed | vacating, then rest |
        vacating | identity changed | vacating, then rest |
        waiting | requested | pulling, then rest | disarm#2 pull arm
        waiting | requested without contact | idle | disarm#2
        waiting | hint | waiting |
        waiting | timer | pulling, then rest | pull arm
        waiting | timer without contact | idle |
        waiting | route changed | idle | disarm#2
        waiting | session changed | idle | disarm#2
        waiting | stop | idle | disarm#2
        waiting | confirmed | waiting |
        waiting | identity changed | waiting |
        paused | hint | waiting |
        paused | timer | pulling, then rest | pull arm
        paused | timer without contact | idle |
        paused | session changed | idle | disarm#2
        paused | stop | idle | disarm#2
        paused | confirmed | waiting |
        paused | identity changed | waiting |
        before a snapshot | hint | waiting |
        before a snapshot | timer | resetting, then rest | reset
        before a snapshot | timer without contact | resetting, then rest | reset
        before a snapshot | session changed | idle | disarm#2
        before a snapshot | stop | idle | disarm#2
        before a snapshot | confirmed | waiting |
        before a snapshot | identity changed | waiting |
        braked | hint | braked |
        braked | deletes allowed | applying, then again | disarm#2 apply
        braked | timer | pulling, then rest | pull arm
        braked | timer without contact | braked | arm
        braked | session changed | idle | disarm#2
        braked | stop | idle | disarm#2
        braked | confirmed | braked |
        braked | identity changed | braked |
        braked before vacating | hint | braked |
        braked before vacating | deletes allowed | vacating, then again | disarm#2 vacate
        braked before vacating | timer | pulling, then rest | pull arm
        braked before vacating | timer without contact | braked | arm
        braked before vacating | session changed | idle | disarm#2
        braked before vacating | stop | idle | disarm#2
        braked before vacating | confirmed | braked |
        braked before vacating | identity changed | braked |
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
                "page", "page of another epoch", "page that goes back", "must reset", "other epoch", "no access",
                "pull lost", "pull throttled", "applied", "applying braked", "cursor reset", "vacated",
                "vacating braked", "timer",
            ]) == [])
    }
}

extension PullMachine.Report {
    fileprivate var name: String {
        switch self {
        case .progressed: "progressed"
        case .contactLost: "contact lost"
        case .epochDoubted: "epoch doubted"
        }
    }
}

extension PullMachine.FollowUp {
    fileprivate var name: String {
        switch self {
        case .rest: "rest"
        case .until(let version): "until \(version)"
        case .again: "again"
        }
    }
}

private enum StateName: CaseIterable {
    case resting, idle, pulling, applying, resetting, vacating, waiting, braked, brakedBeforeVacating

    init(_ state: PullMachine.State) {
        switch state {
        case .resting(nil): self = .idle
        case .resting: self = .resting
        case .pulling: self = .pulling
        case .applying: self = .applying
        case .resetting: self = .resetting
        case .vacating: self = .vacating
        case .waiting: self = .waiting
        case .braked(nil, _, _, _): self = .brakedBeforeVacating
        case .braked: self = .braked
        }
    }
}
