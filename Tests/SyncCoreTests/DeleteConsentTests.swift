import SyncModel
import Testing

@testable import SyncCore

/// Deletions that the mass-delete brake holds back until a person agrees.
@Suite struct DeleteConsentTests {
    /// Returns a harness in which the brake holds back a page with 90 deletes of 100 records.
    private static func braked() -> SessionHarness {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 90, of: 100)))
        return harness
    }

    @Test(arguments: [(90, true), (91, false)])
    func `consent to deletes given during another pull is kept, but covers only the number agreed to`(
        deletes: Int, isEnough: Bool
    ) {
        var harness = Self.braked()
        harness.wake(while: { $0.pull == nil })
        harness.send(.host(.deletesAllowed(.default)))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(2)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: deletes, of: 100)))
        if isEnough {
            guard case .apply(_, _, brake: nil)? = harness.storeActions.first else {
                Issue.record("\(harness.storeActions)")
                return
            }
        } else {
            #expect(harness.storeActions.isEmpty)
            #expect(
                harness.session.status(now: harness.now).spaces[0].pull == .braked(deletes: deletes, of: 100))
        }
    }

    @Test func `consent to deletes of a former history does not cover those of a new one`() {
        var harness = Self.braked()
        harness.wake(while: { $0.pull == nil })
        harness.send(.host(.deletesAllowed(.default)))
        // The server has been replaced by one with another history.
        let epoch = Epoch(rawValue: "epoch-2")
        harness.answerPull(.success(.mustReset(.epoch)))
        harness.answerHello(.success(SessionHarness.hello(of: epoch)))
        harness.answerStore(.sessionChanged(SessionHarness.stored(epoch: epoch)))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), epoch: epoch))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 80, of: 100)))
        #expect(harness.storeActions.isEmpty, "\(harness.storeActions)")
        #expect(harness.session.status(now: harness.now).spaces[0].pull == .braked(deletes: 80, of: 100))
    }

    @Test func `consent given before the brake asked for it is ignored`() {
        var harness = SessionHarness.online()
        harness.send(.host(.deletesAllowed(.default)))
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 9, of: 9)))
        #expect(harness.storeActions.isEmpty)
    }

    @Test func `a loss of access that would remove many records waits for the user's consent`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.answerStore(.spaceVacated(.default, .braked(deletes: 90, of: 90)))
        let status = harness.session.status(now: harness.now)
        #expect(status.spaces[0].pull == .braked(deletes: 90, of: 90) && !status.isInSync)
        harness.send(.host(.deletesAllowed(.default)))
        #expect(harness.storeActions == [.vacate(.default, of: SessionHarness.epoch, brake: nil)])
        harness.answerStore(SessionHarness.vacated(removed: 90))
        #expect(!harness.session.status(now: harness.now).isInSync, "The user may have got access again meanwhile.")
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.answerStore(SessionHarness.vacated())
        #expect(harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a version that a hint announces while the brake holds is pulled after the consent`() {
        var harness = Self.braked()
        harness.send(.server(.hint(harness.hintStreams.first!, Hint(space: .default, head: Version(2)))))
        harness.send(.host(.deletesAllowed(.default)))
        harness.answerStore(SessionHarness.applied(version: Version(1)))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(2)))))
        harness.answerStore(SessionHarness.applied(version: Version(2)))
        #expect(harness.pull == nil && harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a space that waits for the user's consent is still polled, and learns that access is gone`() {
        var harness = Self.braked()
        let held = harness.now
        harness.wake(while: { $0.pull == nil })
        #expect(harness.now - held == SyncPolicy().pollIntervalWithHints)
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        #expect(harness.storeActions == [.vacate(.default, of: SessionHarness.epoch, brake: SyncPolicy().deleteBrake)])
    }

    @Test func `a pending question about deletes survives the loss of the link`() {
        var harness = Self.braked()
        harness.send(.device(.linkChanged(.down("no carrier"))))
        for _ in 0..<3 { harness.wake() }
        harness.send(.host(.deletesAllowed(.default)))
        guard case .apply(_, _, brake: nil)? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
    }

    @Test func `a snapshot held by the delete brake waits for the user's consent`() {
        var harness = Self.braked()
        #expect(harness.session.status(now: harness.now).spaces[0].pull == .braked(deletes: 90, of: 100))
        harness.send(.host(.syncRequested))
        #expect(harness.pull == nil)
        harness.send(.host(.deletesAllowed(.default)))
        guard case .apply(_, _, brake: nil)? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
    }
}
