import SyncModel
import Testing

@testable import SyncCore

/// The stream of hints, and how it changes the intervals of the polls.
@Suite struct HintsMachineTests {
    @Test func `a requested pause before the next hint stream is kept`() {
        var harness = SessionHarness.online()
        harness.policy.pollInterval = .seconds(3_600)
        harness.send(.server(.hintsEnded(harness.hintStreams.first!, retryAfter: .seconds(600))))
        let ended = harness.now
        for _ in 0..<99 where harness.session.hints.state.isWaiting {
            harness.wake()
            if harness.pull != nil { harness.answerPull(.success(.page(SessionHarness.page(version: .zero)))) }
            if !harness.storeActions.isEmpty { harness.answerStore(SessionHarness.applied(version: .zero)) }
        }
        #expect(harness.now - ended >= .seconds(600))
    }

    /// Ends the newest stream, and waits until the device has asked for another.
    private func reopen(_ harness: inout SessionHarness) {
        let stream = harness.hintStreams.max()!
        harness.send(.server(.hintsEnded(stream)))
        harness.wake(while: { $0.hintStreams.max() == stream })
    }

    /// Returns a device whose stream of hints was open, was cut, and is being opened again.
    private func reopening() -> SessionHarness {
        var harness = SessionHarness.online()
        harness.send(.server(.hint(harness.hintStreams.max()!, Hint(space: .default, head: .zero))))
        reopen(&harness)
        #expect(harness.pull == nil)
        return harness
    }

    @Test func `an idle device asks at once if a stream that was open cannot be opened again`() {
        var harness = reopening()
        harness.send(.server(.hintsEnded(harness.hintStreams.max()!)))
        #expect(harness.pull != nil)
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        harness.answerStore(SessionHarness.applied(version: .zero))
        // The server is there, and only its hints are not. The polls are enough.
        harness.wake(while: { [before = harness.hintStreams] in $0.hintStreams == before })
        harness.send(.server(.hintsEnded(harness.hintStreams.max()!)))
        #expect(harness.pull == nil)
    }

    /// A server begins each stream with a hint, so a hint does not show that streams last.
    @Test func `streams that end after their first hint are opened ever more rarely, until one lasts`() {
        var harness = SessionHarness.online()
        /// Ends each stream some time after its first hint. Returns the number of streams in ten minutes.
        func streams(lasting duration: Duration) -> Int {
            let start = harness.now
            var count = 0
            var last: Serial?
            while harness.now - start < .seconds(600) {
                if let stream = harness.hintStreams.max(), stream != last {
                    last = stream
                    count += 1
                    harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
                    harness.now += duration
                    harness.send(.server(.hintsEnded(stream)))
                } else if harness.pull != nil {
                    harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
                } else if !harness.storeActions.isEmpty {
                    harness.answerStore(SessionHarness.applied(version: .zero))
                } else {
                    harness.wake()
                }
            }
            return count
        }
        let hasty = streams(lasting: .zero)
        #expect(hasty > 3 && hasty < 40, "\(hasty)")
        // After one stream that has lasted, the next one is opened at once.
        let lasting = streams(lasting: .seconds(30))
        #expect(lasting > 12, "\(lasting)")
    }

    @Test func `a server that asks for a pause before the next hint stream gets no other request`() {
        var harness = reopening()
        harness.send(.server(.hintsEnded(harness.hintStreams.max()!, retryAfter: .seconds(5))))
        #expect(harness.pull == nil)
    }

    @Test func `hint streams that end repeatedly do not delay the poll`() {
        var harness = SessionHarness.online()
        let due = Array(harness.timers.values).max()!
        for _ in 0..<5 {
            let stream = harness.hintStreams.first!
            harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
            harness.send(.server(.hintsEnded(stream)))
            #expect(harness.timers.values.contains(due))
            harness.wake(while: { $0.hintStreams.isEmpty })
        }
    }

    @Test func `a hint of a newer version starts a pull, and a hint of an old version does not`() {
        var harness = SessionHarness.online()
        let stream = harness.hintStreams.first!
        harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
        #expect(harness.pull == nil)
        harness.send(.server(.hint(stream, Hint(space: .default, head: Version(4)))))
        #expect(harness.pull != nil)
        // The page that answers the pull in flight reaches this version, so no further pull starts.
        harness.send(.server(.hint(stream, Hint(space: .default, head: Version(5)))))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(5)))))
        harness.answerStore(SessionHarness.applied(version: Version(5)))
        #expect(harness.pull == nil)
    }

    @Test func `a false hint costs one pull and causes no loop`() {
        var harness = SessionHarness.online()
        harness.send(.server(.hint(harness.hintStreams.first!, Hint(space: .default, head: Version(1_000_000)))))
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        harness.answerStore(SessionHarness.applied(version: .zero))
        #expect(harness.pull == nil)
    }

    @Test func `an idle session wakes only for its poll, which is less frequent while hints arrive`() {
        var harness = SessionHarness.online()
        #expect(harness.requests.isEmpty)
        // Before the first hint, the device cannot know whether the server has opened the stream, so it polls often.
        #expect(Array(harness.timers.values) == [harness.policy.pollInterval])
        let stream = harness.hintStreams.first!
        harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
        harness.wake()
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        harness.answerStore(SessionHarness.applied(version: .zero))
        #expect(Array(harness.timers.values) == [harness.now + harness.policy.pollIntervalWithHints])
        harness.send(.server(.hintsEnded(stream)))
        #expect(harness.timers.values.contains(harness.now + harness.policy.pollInterval))
        #expect(!harness.timers.values.contains(harness.now + harness.policy.pollIntervalWithHints))
    }

    @Test
    func `a space first used while a hint stream is open joins a new stream, and is polled often until it delivers`() {
        var harness = SessionHarness.online()
        let stream = harness.hintStreams.first!
        harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
        let other: SpaceID = "other"
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1), in: other)))
        #expect(harness.hintStreams.count == 1 && !harness.hintStreams.contains(stream))
        #expect(harness.log(last: 1).contains("other"))
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), of: other))))
        harness.answerStore(SessionHarness.applied(version: Version(1), of: other))
        #expect(harness.timers.values.allSatisfy { $0 <= harness.now + harness.policy.pollInterval })
    }
}

extension HintsMachine.State {
    fileprivate var isWaiting: Bool {
        if case .waiting = self { true } else { false }
    }
}
