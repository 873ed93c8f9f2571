import SyncModel
import Testing

@testable import SyncCore

/// The session as a whole: how its machines work together, the changes of contact that it notes, and how it stops.
@Suite struct SessionMachineTests {
    @Test func `a write is pushed at once, and its effect is pulled`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        #expect(harness.storeActions == [.takeBatch(BatchLimit(transactions: 100, bytes: 500_000))])
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push?.request.epoch == SessionHarness.epoch)
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        guard case .record(let results, _, _)? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
        #expect(results.count == 1)
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        #expect(harness.pull != nil)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(SessionHarness.applied(version: Version(1)))
        #expect(harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a sync is reported as complete even if the push results arrive after the page that contains them`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(SessionHarness.applied(version: Version(1), outbox: OutboxSummary(sent: 1)))
        harness.notes = []
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary()))
        #expect(harness.session.status(now: harness.now).isInSync)
        #expect(harness.notes == [.inSync])
    }

    @Test func `a sync is not reported as complete while a space waits to retry`() {
        let spaces: [SpaceID] = ["default", "letters"]
        var harness = SessionHarness.online(spaces: spaces)
        harness.notes = []
        harness.send(.host(.syncRequested))
        harness.answerPull(.failure(TransportError(.unreachable, "busy")))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), of: "letters"))))
        harness.answerStore(SessionHarness.applied(version: Version(1), of: "letters"))
        #expect(!harness.notes.contains(.inSync))
    }

    @Test func `after a push, only the spaces of its transactions are pulled`() {
        let spaces: [SpaceID] = ["default", "letters", "photos"]
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1), spaces: spaces)
        harness.answerStore(.batchTaken(SessionHarness.batch(0...1, outbox: OutboxSummary(sent: 1), in: "letters")))
        harness.answerPush(.success(SessionHarness.results(0...1, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        #expect(harness.pull?.request.space == "letters")
        #expect(harness.requests.count == 1)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(2), of: "letters"))))
        harness.answerStore(SessionHarness.applied(version: Version(2), of: "letters"))
        #expect(harness.requests.isEmpty)
        #expect(harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a space that the application starts to use is pulled too`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1), in: "attic")))
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        #expect(harness.pull?.request.space == "attic")
        #expect(harness.session.status(now: harness.now).spaces.map(\.space) == ["attic", "default"])
    }

    @Test func `a requested pause is saved for later runs, up to the longest pause allowed`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.failure(TransportError(.throttled, "busy", retryAfter: .seconds(90_000))))
        #expect(
            harness.notes.suffix(2) == [
                .failed(code: "throttled", message: "busy"), .paused(harness.policy.backoff.longestRetryAfter),
            ])
    }

    /// A restored server answers a pull and a push of the former history by naming its new history.
    @Test(arguments: [true, false])
    func `a push of the former history is sent again, and its response is not a second change of history`(
        arrivesAfterTheAdoption: Bool
    ) throws {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let former = try #require(harness.push).serial
        let renewed = Epoch(rawValue: "epoch-2")
        let response = PushResponse.refused(.epochChanged(renewed))
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.mustReset(.epoch)))
        if !arrivesAfterTheAdoption { harness.answerPush(.success(response)) }
        harness.answerHello(.success(SessionHarness.hello(of: renewed)))
        #expect(harness.storeActions == [.adopt(renewed, SessionHarness.account)])
        harness.answerStore(
            .sessionChanged(SessionHarness.stored(epoch: renewed, outbox: OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        if arrivesAfterTheAdoption { harness.send(.server(.pushEnded(former, .success(response)))) }
        let again = try #require(harness.push)
        #expect(again.serial != former && again.request.epoch == renewed)
        #expect(harness.session.status(now: harness.now).connection == .online)
        #expect(harness.openHello == nil && harness.notes == [.inSync])
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        #expect(harness.storeActions.count == 1)
    }

    @Test func `a server that refuses a push for the history that it names itself does not cause a loop`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        for _ in 0..<10 {
            guard !harness.storeActions.isEmpty else { break }
            harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
            harness.answerPush(.success(.refused(.epochChanged(SessionHarness.epoch))))
            if harness.openHello != nil { harness.answerHello() }
        }
        #expect(harness.push == nil && harness.storeActions.isEmpty)
        #expect(
            harness.notes.last
                == .failed(
                    code: "notUnderstood",
                    message:
                        "the server refuses each push because its history has changed, even after the device has adopted the history in its hello"
                ))
    }

    /// A way in which every push fails, while every hello and every pull succeeds.
    enum PushFailure: CaseIterable, Sendable {
        case late, silent, reset, changedEpoch, newEpochEachTime
    }

    @Test(arguments: PushFailure.allCases)
    func `pushes that fail again and again do not storm, although hellos and pulls succeed`(failure: PushFailure) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 3))
        let start = harness.now
        var epoch = SessionHarness.epoch
        var requests: [Duration] = []
        var pushes: [Duration] = []
        while harness.now - start < .seconds(3_600), requests.count < 10_000 {
            if let action = harness.storeActions.first {
                switch action {
                case .takeBatch(let limit):
                    let last = min(3, Int64(limit.transactions)) - 1
                    harness.answerStore(.batchTaken(SessionHarness.batch(0...last, outbox: OutboxSummary(sent: 3))))
                case .apply: harness.answerStore(SessionHarness.applied(version: .zero, outbox: OutboxSummary(sent: 3)))
                case .adopt(let adopted, _):
                    let session = SessionHarness.stored(epoch: adopted, outbox: OutboxSummary(waiting: 3))
                    harness.answerStore(.sessionChanged(session))
                default:
                    Issue.record("\(action)")
                    return
                }
            } else if harness.openHello != nil {
                requests.append(harness.now - start)
                harness.answerHello(.success(SessionHarness.hello(of: epoch)))
            } else if harness.pull != nil {
                requests.append(harness.now - start)
                harness.answerPull(.success(.page(SessionHarness.page(version: .zero, epoch: epoch))))
            } else if harness.push != nil, pushes.last != harness.now - start || failure != .silent {
                requests.append(harness.now - start)
                pushes.append(harness.now - start)
                switch failure {
                case .late: harness.answerPush(.failure(TransportError(.timedOut, "late")))
                case .silent: break
                case .reset: harness.answerPush(.failure(TransportError(.unreachable, "connection reset")))
                case .changedEpoch: harness.answerPush(.success(.refused(.epochChanged(Epoch(rawValue: "other")))))
                case .newEpochEachTime:
                    epoch = Epoch(rawValue: "epoch-\(pushes.count + 1)")
                    harness.answerPush(.success(.refused(.epochChanged(epoch))))
                }
            } else {
                guard harness.wake() else { return }
            }
        }
        #expect(requests.count { $0 < .seconds(60) } < 60, "\(requests.filter { $0 < .seconds(60) })")
        #expect(requests.count < 600, "\(requests.count)")
        // By then the waits have reached the cap of the back-off. With the jitter, their mean is a minute.
        #expect((10..<100).contains(pushes.count { $0 >= .seconds(600) }), "\(pushes)")
    }

    @Test func `after pushes that failed, a new route to the server is used at once`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        func push() { harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1)))) }
        for _ in 0..<12 {
            for _ in 0..<100 where harness.storeActions.isEmpty {
                if harness.openHello != nil { harness.answerHello() } else { harness.wake() }
            }
            push()
            harness.answerPush(.failure(TransportError(.unreachable, "connection reset")))
        }
        harness.send(.device(.linkChanged(.down("no route"))))
        harness.send(.device(.linkChanged(.up)))
        harness.answerHello()
        #expect(harness.storeActions.count == 1)
        push()
        #expect(harness.push != nil)
    }

    @Test func `a server that shows a page before it names each new history is asked less and less often`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        let start = harness.now
        var hellos: [Duration] = []
        /// Number of pages since the last hello.
        var pages = 0
        while harness.now - start < .seconds(3_600), hellos.count < 1_000 {
            let epoch = Epoch(rawValue: "epoch-\(hellos.count)")
            let cursor = "\(epoch)-\(pages)"
            switch harness.storeActions.first {
            case .adopt(let adopted, _)?:
                harness.answerStore(.sessionChanged(SessionHarness.stored(epoch: adopted)))
            case .apply?:
                harness.answerStore(
                    SessionHarness.applied(version: Version(Int64(pages)), cursor: cursor, changed: 9))
            case let action?:
                Issue.record("\(action)")
                return
            case nil where harness.openHello != nil:
                hellos.append(harness.now - start)
                pages = 0
                harness.answerHello(.success(SessionHarness.hello(of: Epoch(rawValue: "epoch-\(hellos.count)"))))
            case nil where harness.pull != nil:
                pages += 1
                let page = SessionHarness.page(
                    version: Version(Int64(pages)), head: Version(9), cursor: "\(epoch)-\(pages)", hasMore: true,
                    epoch: epoch)
                harness.answerPull(.success(pages == 1 && !hellos.isEmpty ? .page(page) : .mustReset(.epoch)))
            case nil: guard harness.wake() else { return }
            }
        }
        #expect(hellos.count { $0 < .seconds(60) } < 30, "\(hellos)")
        // By then the waits have reached the cap of the back-off. With the jitter, their mean is a minute.
        #expect((10..<100).contains(hellos.count { $0 >= .seconds(600) }), "\(hellos)")
    }

    @Test func `a history that cannot be recorded is reported as a failure of the store, and tried again`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(epoch: nil, account: nil), .up)))
        harness.answerHello()
        let failure = StoreError(.diskFull, "the disk is full")
        harness.answerStore(.failed(.session(.adopting), failure))
        let status = harness.session.status(now: harness.now)
        #expect(status.storeFailure == failure)
        guard case .storeFailed(failure, _) = status.connection else {
            Issue.record("\(status.connection)")
            return
        }
        #expect(harness.notes == [.failed(code: "store.diskFull", message: "the disk is full")])
        harness.wake()
        harness.answerHello()
        #expect(harness.storeActions == [.adopt(SessionHarness.epoch, SessionHarness.account)])
        harness.answerStore(.failed(.session(.adopting), failure))
        harness.send(.host(.syncRequested))
        #expect(harness.openHello != nil)
        harness.answerHello()
        harness.answerStore(.sessionChanged(SessionHarness.stored()))
        #expect(harness.session.status(now: harness.now).storeFailure == nil && harness.pull != nil)
    }

    /// A response, or a missing response, that makes a sync fail.
    enum BadEnd: String, CaseIterable, Sendable {
        case noResults, gap, identityConflict, silentHello, silentPush, silentPull, otherHistories

        var reason: (code: String, part: String) {
            switch self {
            case .noResults: ("notUnderstood", "no outcome for the 1 transactions sent")
            case .gap: ("identity", "is missing earlier transactions")
            case .identityConflict: ("identity", "another copy of this database may be syncing")
            case .silentHello: ("timedOut", "did not answer a hello")
            case .silentPush: ("timedOut", "did not answer a push")
            case .silentPull: ("timedOut", "did not respond to a pull")
            case .otherHistories: ("notUnderstood", "reports a different history in each hello")
            }
        }

        func happen(to harness: inout SessionHarness) {
            switch self {
            case .silentHello: harness.send(.device(.linkChanged(.down("gone"))))
            case .silentPull, .otherHistories: harness.send(.host(.syncRequested))
            case .noResults, .gap, .identityConflict, .silentPush: break
            }
            if self == .silentHello { harness.send(.device(.linkChanged(.up))) }
            for _ in 0..<10 where harness.notes.last == .inSync {
                switch self {
                case .noResults: push(.answered([], epoch: SessionHarness.epoch, serverTime: .zero), &harness)
                case .gap: push(.refused(.gap(expected: TransactionNumber(7))), &harness)
                case .identityConflict: push(.refused(.identityConflict(number: .first)), &harness)
                case .silentPush: push(nil, &harness)
                case .silentHello, .silentPull: harness.wake()
                case .otherHistories:
                    let epoch = Epoch(rawValue: "another")
                    harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), epoch: epoch))))
                    if harness.openHello != nil { harness.answerHello() }
                }
            }
        }

        /// Takes a batch, and answers its push. Without a response, fires the next timer instead.
        private func push(_ response: PushResponse?, _ harness: inout SessionHarness) {
            if harness.storeActions == [.renewIdentity] {
                harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
            }
            if !harness.storeActions.isEmpty {
                harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
            }
            if let response { harness.answerPush(.success(response)) } else { harness.wake() }
        }
    }

    @Test(arguments: BadEnd.allCases)
    func `the reason why a sync fails is recorded, whatever it is`(end: BadEnd) {
        var harness = SessionHarness.online(
            outbox: OutboxSummary(waiting: end == .silentPull || end == .otherHistories ? 0 : 1))
        end.happen(to: &harness)
        guard case .failed(let code, let message)? = harness.notes.last else {
            Issue.record("\(harness.notes)\n\(harness.log(last: 6))")
            return
        }
        #expect(code == end.reason.code && message.contains(end.reason.part), "\(code): \(message)")
    }

    @Test(
        arguments: [
            (nil, "https://a.example", true), ("https://a.example", "https://a.example/", true),
            ("https://a.example", nil, true), ("https://a.example", "https://b.example", false),
        ] as [(String?, String?, Bool)])
    func `a requested pause applies only to the server that asked for it`(
        asked: String?, server: String?, applies: Bool
    ) {
        let start = WallTime(milliseconds: 1_000_000)
        var contact = ServerContact()
        _ = contact.note(.paused(.seconds(60), by: asked), now: start)
        #expect(contact.restOfPause(by: server, at: start.advanced(by: .seconds(20))) == (applies ? .seconds(40) : nil))
        #expect(contact.restOfPause(by: server, at: start.advanced(by: .seconds(60))) == nil)
        // The device's clock was set back in the meantime.
        #expect(contact.restOfPause(by: server, at: start.advanced(by: .milliseconds(-1))) == nil)
    }

    @Test func `pushes and pulls do not wait for each other`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        #expect(harness.pull != nil)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push != nil && harness.pull != nil)
    }

    @Test func `a stop waits for requests in flight until its deadline`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.send(.host(.stopRequested))
        #expect(!harness.isFinished)
        let stopped = harness.now
        harness.wake(while: { !$0.isFinished })
        #expect(harness.now - stopped <= harness.policy.stopDeadline)
        #expect(harness.timers.isEmpty && harness.requests.isEmpty && harness.hintStreams.isEmpty)
    }

    @Test func `a second stop request does not extend the deadline`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.send(.host(.stopRequested))
        let timers = harness.timers
        harness.now += .seconds(1)
        #expect(harness.send(.host(.stopRequested)).isEmpty)
        #expect(harness.timers == timers)
    }

    @Test func `a push response that arrives during a stop is recorded`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.send(.host(.stopRequested))
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        #expect(!harness.isFinished)
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        #expect(harness.isFinished)
    }

    @Test func `an idle session stops at once`() {
        var harness = SessionHarness.online()
        harness.send(.host(.stopRequested))
        #expect(harness.isFinished)
        #expect(harness.timers.isEmpty)
    }
}
