import SyncModel
import Testing

@testable import SyncCore

/// Changes to the set of spaces that the device follows, while the session runs.
@Suite struct FollowTests {
    private static func stored(_ space: SpaceID, cursor: String? = nil) -> StoredSpace {
        StoredSpace(space: space, cursor: cursor.map(Cursor.init(rawValue:)), version: .zero, isComplete: cursor != nil)
    }

    /// Reports that the set of spaces has changed to these.
    private func reportSpaces(_ harness: inout SessionHarness, _ spaces: StoredSpace...) {
        harness.send(.device(.spacesTouched))
        #expect(harness.storeActions == [.readSpaces])
        harness.answerStore(.spacesRead(spaces))
    }

    private func spaces(_ harness: SessionHarness) -> [SpaceID] {
        harness.session.status(now: harness.now).spaces.map(\.space)
    }

    private func listening(_ actions: [SyncAction]) -> [[SpaceID]] {
        actions.compactMap { if case .server(.send(_, .hints(let spaces))) = $0 { spaces } else { nil } }
    }

    @Test func `a followed space is pulled at once, and hints are requested for it`() {
        var harness = SessionHarness.online()
        let streams = harness.hintStreams
        reportSpaces(&harness, Self.stored(.default, cursor: "at-0"), Self.stored("team"))
        #expect(harness.pull?.request.space == "team")
        #expect(harness.pull?.request.cursor == nil)
        #expect(harness.hintStreams.count == 1 && harness.hintStreams != streams)
        #expect(!harness.session.status(now: harness.now).isInSync)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(3), of: "team"))))
        harness.answerStore(SessionHarness.applied(version: Version(3), of: "team"))
        #expect(harness.session.status(now: harness.now).isInSync)
        #expect(spaces(harness) == [.default, "team"])
    }

    @Test func `a space that is followed without contact is pulled when there is contact`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .down("no network"))))
        reportSpaces(&harness, Self.stored(.default), Self.stored("team"))
        #expect(harness.pull == nil)
        harness.send(.device(.linkChanged(.up)))
        harness.answerHello()
        let pulled = harness.requests.values.compactMap {
            if case .pull(let request) = $0 { request.space } else { nil }
        }
        #expect(Set(pulled) == [.default, "team"])
    }

    @Test func `an unfollowed space ends its pull and its timers, and leaves the hints`() {
        var harness = SessionHarness.online(spaces: [.default, "team"])
        harness.send(.host(.syncRequested))
        let pull = harness.open { if case .pull(let request) = $1, request.space == "team" { $0 } else { nil } }
        harness.send(.device(.spacesTouched))
        harness.storeActions = []
        let actions = harness.send(.store(.spacesRead([Self.stored(.default, cursor: "at-0")])))
        #expect(pull != nil && actions.contains(.server(.abandon(pull ?? Serial(rawValue: 0)))))
        #expect(listening(actions) == [[.default]])
        #expect(spaces(harness) == [.default])
        // A late page is ignored.
        let late = harness.send(
            .server(
                .pullEnded(
                    pull ?? Serial(rawValue: 0), "team",
                    .success(.page(SessionHarness.page(version: Version(9), of: "team"))))))
        #expect(late.isEmpty)
    }

    @Test func `a space that was left and followed again meanwhile is pulled from its beginning`() {
        var harness = SessionHarness.online(spaces: [.default, "team"])
        reportSpaces(&harness, Self.stored(.default, cursor: "at-0"), Self.stored("team"))
        #expect(harness.pull?.request.space == "team")
        #expect(harness.pull?.request.cursor == nil)
        #expect(harness.session.status(now: harness.now).spaces.first { $0.space == "team" }?.isComplete == false)
    }

    @Test func `reading an unchanged list of spaces causes no action`() {
        var harness = SessionHarness.online(spaces: [.default, "team"])
        harness.send(.device(.spacesTouched))
        harness.storeActions = []
        let known = [Self.stored(.default, cursor: "at-0"), Self.stored("team", cursor: "at-0")]
        #expect(harness.send(.store(.spacesRead(known))).isEmpty)
        harness.send(.device(.spacesTouched))
        #expect(
            harness.send(.store(.failed(.session(.readingSpaces), StoreError(.busy, "busy")))).allSatisfy {
                if case .note = $0 { true } else { false }
            })
        #expect(spaces(harness) == [.default, "team"])
    }

    @Test func `a session that stops pulls no new space`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.send(.host(.stopRequested))
        harness.send(.store(.spacesRead([Self.stored(.default, cursor: "at-0"), Self.stored("team")])))
        let pulled = harness.requests.values.compactMap {
            if case .pull(let request) = $0 { request.space } else { nil }
        }
        #expect(pulled == [.default])
    }
}
