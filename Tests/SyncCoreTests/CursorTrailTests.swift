import SyncModel
import Testing

@testable import SyncCore

/// The detection of cycles of cursors.
@Suite struct CursorTrailTests {
    /// Answers pulls and applies pages until the session does neither or `count` pulls have been answered.
    ///
    /// - Returns: The number of pulls that were answered.
    private static func pulls(_ harness: inout SessionHarness, _ count: Int, _ page: (Int) -> PullPage) -> Int {
        var served = 0
        for _ in 0..<10_000 where served < count {
            if harness.pull != nil {
                harness.answerPull(.success(.page(page(served))))
                served += 1
            } else if case .apply(let page, _, _)? = harness.storeActions.first {
                harness.answerStore(SessionHarness.applied(version: page.version, cursor: page.cursor.rawValue))
            } else if case .resetCursor? = harness.storeActions.first {
                harness.answerStore(.cursorReset(.default))
            } else {
                return served
            }
        }
        return served
    }

    @Test func `a server that alternates between two cursors without progress is asked once per poll`() {
        var harness = SessionHarness.online()
        var cursors: [Cursor?] = []
        for poll in 0..<4 {
            harness.wake(while: { $0.pull == nil })
            cursors.append(harness.pull?.request.cursor)
            let served = Self.pulls(&harness, 100) { _ in
                SessionHarness.page(version: .zero, head: Version(9), cursor: poll.isMultiple(of: 2) ? "a" : "b")
            }
            #expect(served == 1)
        }
        #expect(cursors == ["at-0", "a", "b", "a"].map { Cursor(rawValue: $0) })
    }

    @Test(arguments: 2...9)
    func `a cycle of cursors is detected even if its pages look new`(length: Int) {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello()
        let served = Self.pulls(&harness, 100) { turn in
            PullPage(
                space: .default, epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1),
                content: .snapshot([], isFirst: turn == 0, isLast: false),
                cursor: Cursor(rawValue: "on-\(turn % length)"), version: Version(1), head: Version(1), hasMore: true)
        }
        #expect(served <= 3 * length + 2)
        guard case .recovering(let words, _) = harness.session.status(now: harness.now).spaces[0].pull else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("form a cycle"))
        #expect(harness.notes.contains(.failed(code: "contradiction", message: words)))
    }
}
