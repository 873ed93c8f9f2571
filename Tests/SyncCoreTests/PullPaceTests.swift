import SyncModel
import Testing

@testable import SyncCore

/// The size of pages and their deadlines on slow links.
@Suite struct PullPaceTests {
    @Test func `a reduced page size grows again with each page that arrives`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        // The page misses its deadline, so the session waits and then sends another hello.
        harness.wake()
        harness.wake()
        harness.answerHello()
        var sizes: [Int?] = []
        for version in 1...5 as ClosedRange<Int64> {
            sizes.append(harness.session.pulls[0].pace.shrunkPage)
            harness.answerPull(
                .success(.page(SessionHarness.page(version: Version(version), head: Version(30), hasMore: true))))
            harness.answerStore(SessionHarness.applied(version: Version(version)))
        }
        #expect(harness.policy.pageRows == 1_000)
        #expect(sizes == [500, 625, 781, 976, nil])
    }

    @Test func `on a very slow link pages shrink to one row, and their deadlines grow`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        var limits: [Int] = []
        var deadlines: [Duration] = []
        for _ in 0..<12 {
            limits.append(harness.pull!.request.limit)
            let asked = harness.now
            harness.wake(while: { $0.pull != nil })
            deadlines.append(harness.now - asked)
            harness.wake(while: { $0.openHello == nil })
            harness.answerHello()
        }
        #expect(limits == [500, 500, 250, 125, 62, 50, 12, 3, 1, 1, 1, 1])
        #expect(deadlines.prefix(6).allSatisfy { $0 == harness.policy.requestDeadline })
        #expect(deadlines.suffix(6) == [60, 120, 240, 480, 600, 600].map { .seconds($0) })
    }
}
