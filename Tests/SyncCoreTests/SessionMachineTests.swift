import SyncModel
import Testing

@testable import SyncCore

/// The session as a whole: its machines together, its notes, and its end.
@Suite struct SessionMachineTests {
    @Test func `a write is pushed at once, and its effect is pulled`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        #expect(harness.storeOrders == [.takeBatch(BatchLimit(transactions: 100, bytes: 500_000))])
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push?.request.epoch == SessionHarness.epoch)
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        guard case .record(let results, _, _)? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
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
        harness.answerPull(.failure(TransportFailure(.unreachable, "busy")))
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
        harness.answerPull(.failure(TransportFailure(.throttled, "busy", retryAfter: .seconds(90_000))))
        #expect(
            harness.notes.suffix(2) == [
                .failed(code: "throttled", message: "busy"), .paused(harness.policy.backoff.longestRetryAfter),
            ])
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
        while !harness.isFinished { harness.wake() }
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
