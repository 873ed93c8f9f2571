import SyncModel
import Testing

@testable import SyncCore

/// Tests pulls of a space that the account may not read.
@Suite struct PullMachineAccessTests {
    private static let vacating = StoreAction.vacate(
        .default, of: SessionHarness.epoch, brake: SyncPolicy().deleteBrake)

    @Test func `a store that did not vacate the space makes the session send a hello`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        let kept = StoredSpace(space: .default, cursor: nil, version: .zero, isComplete: false)
        harness.answerStore(
            .spaceVacated(
                .default, .vacated(VacatedSpace(stored: kept, outbox: OutboxSummary(), removedRecords: 0))))
        #expect(harness.openHello != nil && harness.pull == nil)
    }

    @Test func `a space without access is vacated, reported, and polled again after a long interval`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        #expect(harness.storeActions == [Self.vacating])
        #expect(harness.session.status(now: harness.now).spaces[0].pull == .working)
        harness.answerStore(SessionHarness.vacated(removed: 3))
        let status = harness.session.status(now: harness.now)
        #expect(!status.spaces[0].hasAccess && status.spaces[0].pull == .idle)
        // The device holds everything that it may read.
        #expect(status.isInSync)
        let rested = harness.now
        #expect(harness.pull == nil)
        harness.wake(while: { $0.pull == nil })
        #expect(harness.now - rested == SyncPolicy().pollIntervalWithHints)
        #expect(harness.pull?.request.cursor == nil)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(SessionHarness.applied(version: Version(1)))
        #expect(harness.session.status(now: harness.now).spaces[0].hasAccess)
    }

    @Test func `a sync requested during the poll of a space without access pulls it once more`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.answerStore(SessionHarness.vacated(removed: 3))
        harness.wake(while: { $0.pull == nil })
        // The response to this poll may be older than the request.
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.answerStore(SessionHarness.vacated())
        #expect(harness.session.status(now: harness.now).spaces[0].pull == .working)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(SessionHarness.applied(version: Version(1)))
        #expect(harness.session.status(now: harness.now).spaces[0].hasAccess && harness.pull == nil)
    }

    @Test func `a loss of access reported for another history does not vacate the space`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(Epoch(rawValue: "another"))))
        #expect(harness.storeActions.isEmpty)
        #expect(harness.openHello != nil)
    }

    @Test func `a push to a space without access brings the next poll forward, but starts no pull at once`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.answerStore(SessionHarness.vacated())
        let rested = harness.now
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        #expect(harness.pull == nil)
        harness.wake(while: { $0.pull == nil })
        #expect(harness.now - rested == SyncPolicy().pollInterval)
    }

    @Test func `a sync requested while a space is being vacated starts another pull`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.send(.host(.syncRequested))
        harness.answerStore(SessionHarness.vacated())
        #expect(harness.pull != nil)
    }

    @Test func `vacating a space is retried after it fails`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.answerStore(.failed(.space(.default, .vacating), StoreError(.diskFull, "the disk is full")))
        #expect(harness.pull == nil && !harness.session.status(now: harness.now).isInSync)
        harness.wake(while: { $0.pull == nil })
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        #expect(harness.storeActions == [Self.vacating])
    }
}
