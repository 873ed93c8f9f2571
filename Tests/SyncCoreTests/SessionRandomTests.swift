import SyncModel
import TestRings
import Testing

@testable import SyncCore

/// Sends random events to the session and checks that it never traps, never has two pushes in flight, never stops
/// trying without giving a reason, and never floods the server with requests.
///
/// The events do not include another history or account, held transactions, the delete brake, or a list of spaces that
/// could be read. The tests of the machines cover these.
@Suite struct SessionRandomTests {
    @Test(.ring(.test), arguments: TestRing.sample(0..<40, 0..<200))
    func `the session keeps its promises for random events and failures within one history`(seed: Int) {
        var world = RandomWorld(seed: UInt64(seed))
        for _ in 0..<400 where !world.harness.isFinished { world.step() }
        world.endFaults()
    }
}

/// A store and a server that respond at random, with some late, repeated, and meaningless events.
private struct RandomWorld {
    var harness = SessionHarness()
    var random: TestRandom
    var unanswered = 0
    var answered = 0
    var head: Int64 = 0
    var version: Int64 = 0
    var old: [SyncEvent] = []
    /// Number of requests that have failed since the last success, the last other event, and the last advance of the
    /// clock.
    var failuresInARow = 0

    private static let mostFailuresAtOnce = 3

    init(seed: UInt64) {
        random = TestRandom(seed: seed)
        harness.random = TestRandom(seed: seed ^ 0xABCD)
        harness.send(.host(.started(SessionHarness.stored(), Bool.random(using: &random) ? .up : .down("no link"))))
    }

    var summary: OutboxSummary { OutboxSummary(waiting: unanswered, answered: answered) }

    mutating func step() {
        answerStoreActions()
        switch Int.random(in: 0..<12, using: &random) {
        case 0:
            unanswered += 1
            send(.store(.outboxCounted(summary)))
        case 1: send(.device(.linkChanged(Bool.random(using: &random) ? .up : .down("no link"))))
        case 2: send(.host(.syncRequested))
        case 3:
            send(
                .server(
                    .hint(harness.hintStreams.first ?? Serial(rawValue: 0), Hint(space: .default, head: Version(head))))
            )
        case 4: if let stream = harness.hintStreams.first { send(.server(.hintsEnded(stream))) }
        case 5: if let late = old.randomElement(using: &random) { send(late) }
        case 6, 7: fire()
        default: answerOneRequest()
        }
        answerStoreActions()
        check()
    }

    mutating func send(_ event: SyncEvent) {
        old.append(event)
        failuresInARow = 0
        harness.send(event)
    }

    mutating func fire() {
        let before = harness.now
        harness.fireNextTimer()
        if harness.now > before { failuresInARow = 0 }
    }

    mutating func answerOneRequest() {
        guard let serial = harness.requests.keys.sorted().randomElement(using: &random) else { return }
        let failure = TransportError(
            TransportError.Code.allCases.randomElement(using: &random)!, "failed",
            retryAfter: Int.random(in: 0..<8, using: &random) == 0 ? .seconds(5) : nil,
            isDefinite: Bool.random(using: &random))
        let fails = Int.random(in: 0..<3, using: &random) == 0
        failuresInARow = fails ? failuresInARow + 1 : 0
        switch harness.requests[serial]! {
        case .hello: harness.answerHello(fails ? .failure(failure) : .success(SessionHarness.hello))
        case .push(let request):
            guard !fails else { return harness.answerPush(.failure(failure)) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: harness.answerPush(.success(.refused(.gap(expected: .first))))
            case 1: harness.answerPush(.success(.answered([], epoch: SessionHarness.epoch, serverTime: .zero)))
            default:
                let count = Int64(request.transactions.count)
                head += count
                harness.answerPush(.success(SessionHarness.results(0...(count - 1), version: head)))
            }
        case .pull:
            guard !fails else { return harness.answerPull(.failure(failure)) }
            switch Int.random(in: 0..<8, using: &random) {
            case 0: harness.answerPull(.success(.mustReset(.horizon)))
            case 1: harness.answerPull(.success(.mustReset(.epoch)))
            case 2 where Int.random(in: 0..<3, using: &random) == 0:
                harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
            default:
                let to = min(head, version + 2)
                harness.answerPull(
                    .success(.page(SessionHarness.page(version: Version(to), head: Version(head), hasMore: to < head))))
            }
        case .hints: Issue.record("a stream of hints is not answered")
        }
    }

    /// - Parameter canFail: Whether some of the store's answers are failures.
    mutating func answerStoreActions(canFail: Bool = true) {
        let broken = StoreError(.inputOutput, "input/output error")
        while let action = harness.storeActions.first {
            let fails = canFail && Int.random(in: 0..<10, using: &random) == 0
            switch action {
            case .takeBatch(let limit):
                if fails {
                    harness.answerStore(.failed(.outbox(.takingBatch), broken))
                    continue
                }
                let count = min(unanswered, limit.transactions)
                harness.answerStore(
                    count == 0
                        ? .nothingToPush(summary)
                        : .batchTaken(SessionHarness.batch(0...Int64(count - 1), outbox: summary)))
            case .record(let results, _, _):
                if fails {
                    harness.answerStore(.failed(.outbox(.recordingResults), broken))
                    continue
                }
                unanswered = max(0, unanswered - results.count)
                answered += results.count
                harness.answerStore(.resultsRecorded(summary))
            case .withdraw: withdraw(fails: fails)
            case .apply(let page, _, _):
                if fails {
                    harness.answerStore(.failed(.space(.default, .applyingPage), broken))
                    continue
                }
                version = max(version, page.version.rawValue)
                if version >= head { answered = 0 }
                harness.answerStore(SessionHarness.applied(version: Version(version), outbox: summary))
            case .resetCursor:
                harness.answerStore(
                    fails ? .failed(.space(.default, .resettingCursor), broken) : .cursorReset(.default))
            case .vacate:
                if fails {
                    harness.answerStore(.failed(.space(.default, .vacating), broken))
                    continue
                }
                vacate()
            case .adopt, .renewIdentity:
                harness.answerStore(
                    fails
                        ? .failed(action == .renewIdentity ? .outbox(.renewingIdentity) : .session(.adopting), broken)
                        : .sessionChanged(
                            SessionHarness.stored(
                                outbox: summary, cursor: Cursor(rawValue: "at-\(version)"), version: Version(version),
                                isComplete: true)))
            case .countOutbox: harness.answerStore(.outboxCounted(summary))
            case .readSpaces: harness.answerStore(.failed(.session(.readingSpaces), StoreError(.busy, "busy")))
            }
        }
    }

    /// Withdraws the first transaction. A real store keeps it, without its contents, until the server has answered it.
    /// Here it leaves the outbox at once.
    private mutating func withdraw(fails: Bool) {
        if fails {
            harness.answerStore(.failed(.outbox(.withdrawing), StoreError(.inputOutput, "input/output error")))
            return
        }
        unanswered = max(0, unanswered - 1)
        harness.answerStore(.transactionWithdrawn(summary))
    }

    private mutating func vacate() {
        answered = 0
        version = 0
        harness.answerStore(SessionHarness.vacated(outbox: summary))
    }

    func check() {
        let pushes = harness.requests.values.filter { if case .push = $0 { true } else { false } }
        #expect(pushes.count <= 1, "two pushes on their way (I3)")
        // A server that fails is asked again only after a wait, except to halve a batch or to try once more (I18).
        #expect(failuresInARow <= Self.mostFailuresAtOnce, "\(failuresInARow) failed requests at one moment")
        let status = harness.session.status(now: harness.now)
        guard unanswered > 0, !harness.isFinished else { return }
        let hasReason: Bool =
            switch (status.connection, status.push) {
            case (.offline, _), (_, .working), (_, .waiting), (_, .recovering), (.waiting, _), (.recovering, _),
                (.paused, _), (.storeFailed, _), (.refused, _), (.connecting, _):
                true
            default: false
            }
        #expect(hasReason, "a non-empty outbox without a request, a timer or a reason (I18): \(status)")
        if case .offline = status.connection { return }
        #expect(!harness.timers.isEmpty, "nothing will ever wake the session: \(status)")
    }

    /// Stops all faults, and checks that the session is in sync within an hour.
    mutating func endFaults() {
        guard !harness.isFinished else { return }
        harness.send(.device(.linkChanged(.up)))
        let deadline = harness.now + .seconds(3_600)
        while harness.now < deadline {
            drainOnce()
            let status = harness.session.status(now: harness.now)
            if status.outbox.count == 0, status.isInSync, status.spaces[0].version.rawValue == head { return }
            if harness.requests.isEmpty, harness.storeActions.isEmpty {
                guard harness.fireNextTimer() else { break }
            }
        }
        Issue.record(
            "not in sync after an hour: \(harness.session.status(now: harness.now))\n\(harness.log(last: 12))"
        )
    }

    /// Answers all store actions and the open requests, without failures.
    private mutating func drainOnce() {
        answerStoreActions(canFail: false)
        for serial in harness.requests.keys.sorted() {
            switch harness.requests[serial] {
            case .hello?: harness.answerHello()
            case .push(let request)?:
                let count = Int64(request.transactions.count)
                head += count
                harness.answerPush(.success(SessionHarness.results(0...(count - 1), version: head)))
            case .pull?:
                let to = min(head, version + 100)
                harness.answerPull(
                    .success(.page(SessionHarness.page(version: Version(to), head: Version(head), hasMore: to < head))))
            case .hints?, nil: break
            }
        }
    }
}
