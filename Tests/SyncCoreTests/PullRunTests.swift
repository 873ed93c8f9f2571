import SyncModel
import TestRings
import Testing

@testable import SyncCore

/// Pulls whose pages never end.
@Suite struct PullRunTests {
    /// A server that announces another page with each page.
    private struct EndlessServer {
        var harness = SessionHarness.online()
        var pages: Int64 = 0
        /// Number of records that each page changes.
        var changed = 0
        var sendsNotices = false

        /// Answers pulls until the device sends none, and at most this many.
        mutating func answer(atMost most: Int64 = 10_000) {
            let last = pages + most
            while pages < last, harness.pull != nil {
                pages += 1
                let version = sendsNotices ? Version.zero : Version(pages)
                harness.answerPull(
                    .success(
                        .page(
                            SessionHarness.page(
                                version: version, head: sendsNotices ? version : Version(.max), hasMore: !sendsNotices,
                                hasMoreNotices: sendsNotices))))
                harness.answerStore(
                    SessionHarness.applied(version: version, changed: changed, notice: sendsNotices ? pages : nil))
            }
        }

        var pull: SyncStatus.Activity { harness.session.status(now: harness.now).spaces[0].pull }
    }

    @Test(.ring(.test), arguments: TestRing.sample([false], [false, true]))
    func `an endless run of nearly empty pages is a contradiction, and is retried rarely`(
        notices: Bool
    ) {
        var server = EndlessServer(sendsNotices: notices)
        server.harness.send(.host(.syncRequested))
        for contradiction in 1...6 {
            let before = server.pages
            server.answer()
            #expect(server.pages - before == Int64(PullRun.mostSparsePages) + 1)
            #expect(server.harness.pull == nil)
            #expect(server.pull.obstacle?.contains("pages with hardly any records") == true, "\(server.pull)")
            guard case .waiting(_, .seconds(300)) = server.pull else {
                #expect(contradiction <= PullMachine.contradictionsBeforeRest)
                server.harness.wake()
                if !server.harness.storeActions.isEmpty { server.harness.answerStore(.cursorReset(.default)) }
                continue
            }
            #expect(contradiction == 6)
        }
    }

    @Test(.ring(.test)) func `ten thousand pages that each change records are accepted`() {
        var server = EndlessServer(changed: 2)
        server.harness.send(.host(.syncRequested))
        server.answer()
        #expect(server.pages == 10_000)
        #expect(server.pull == .working)
    }

    @Test func `more changes than the largest space has records are a contradiction`() {
        var server = EndlessServer(changed: PullRun.mostChanges / 2)
        server.harness.send(.host(.syncRequested))
        server.answer()
        #expect(server.pages == 3)
        #expect(server.pull.obstacle?.contains("changes without a pause") == true, "\(server.pull)")
    }

    @Test func `a run of pulls that keeps up with new changes is not a contradiction`() throws {
        var harness = SessionHarness.online()
        let stream = try #require(harness.hintStreams.first)
        for version in 1...Int64(2 * PullRun.mostSparsePages) {
            harness.send(.server(.hint(stream, Hint(space: .default, head: Version(version)))))
            if version == 1 { continue }
            harness.answerPull(.success(.page(SessionHarness.page(version: Version(version - 1)))))
            harness.answerStore(SessionHarness.applied(version: Version(version - 1), changed: 0))
            try #require(harness.pull != nil)
            #expect(harness.session.status(now: harness.now).spaces[0].isInSync)
        }
    }

    @Test func `hints of versions that no page shows cause pulls at growing intervals, until a page shows them`() throws
    {
        var harness = SessionHarness.online()
        let stream = try #require(harness.hintStreams.first)
        var promised: Int64 = 9
        /// Sends a hint of a new version, which no page shows.
        func promise() {
            promised += 1
            harness.send(.server(.hint(stream, Hint(space: .default, head: Version(promised)))))
        }
        /// Sends such hints for an hour, at least one each second and one during each pull, answers the pulls, and
        /// returns their times.
        func pulls() -> [Duration] {
            var times: [Duration] = []
            let end = harness.now + .seconds(3_600)
            while harness.now < end, times.count < 10_000 {
                promise()
                if harness.pull != nil {
                    times.append(harness.now)
                    promise()
                    harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
                    harness.answerStore(SessionHarness.applied(version: .zero))
                    continue
                }
                let next = harness.timers.values.min() ?? end
                if next <= harness.now + .seconds(1) { harness.wake() } else { harness.now += .seconds(1) }
            }
            return times
        }
        let times = pulls()
        #expect((120...600).contains(times.count), "\(times.count) pulls")
        let waits = zip(times, times.dropFirst()).map { $1 - $0 }
        #expect(waits.allSatisfy { $0 >= harness.policy.backoff.floor }, "\(waits)")
        #expect(waits.allSatisfy { $0 <= harness.policy.pollInterval + .seconds(1) }, "\(waits)")
        #expect((waits.max() ?? .zero) > .seconds(20))

        // A pull that shows the newest version that a hint has named ends the waits.
        harness.wake(while: { $0.pull == nil })
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(promised)))))
        harness.answerStore(SessionHarness.applied(version: Version(promised)))
        #expect(harness.pull == nil)
        promise()
        #expect(harness.pull != nil)
    }
}
