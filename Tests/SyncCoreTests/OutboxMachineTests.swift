import SyncModel
import Testing

@testable import SyncCore

/// The outbox: batches, their outcomes, and identities.
@Suite struct OutboxMachineTests {
    @Test(arguments: [1...1, 1...2, 0...2])
    func `results for transactions that were not sent are ignored, and the push waits to retry`(
        numbers: ClosedRange<Int64>
    ) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 2))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...1, outbox: OutboxSummary(sent: 2))))
        harness.answerPush(.success(SessionHarness.results(numbers, version: 1)))
        #expect(harness.storeActions.isEmpty && harness.push == nil)
        guard case .waiting(let words, _) = harness.session.status(now: harness.now).push else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("the response has transaction"))
    }

    @Test func `a write is pushed even if counting the outbox fails`() {
        var harness = SessionHarness.online()
        harness.send(.store(.failed(.session(.countingOutbox), StoreError(.busy, "busy"))))
        guard case .takeBatch? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push != nil)
    }

    @Test func `only one push is in flight, no matter how much is written in the meantime`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 5, sent: 1))))
        #expect(harness.storeActions.isEmpty)
        #expect(harness.requests.values.filter { if case .push = $0 { true } else { false } }.count == 1)
    }

    @Test func `an outbox count taken before a push response does not change the status`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 5))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...4, outbox: OutboxSummary(sent: 5))))
        harness.answerPush(.success(SessionHarness.results(0...4, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 5)))
        // This count was read before the results were recorded, and arrives afterward.
        harness.send(.store(.outboxCounted(OutboxSummary(sent: 5))))
        harness.answerStore(.nothingToPush(OutboxSummary(answered: 5)))
        #expect(!harness.session.status(now: harness.now).isInSync)
        #expect(harness.session.status(now: harness.now).outbox.answered == 5)
    }

    @Test func `transactions that are held back are not requested again before a hello`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 3))
        harness.answerStore(.nothingToPush(OutboxSummary(waiting: 3, held: 3)))
        #expect(harness.storeActions.isEmpty)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 3, held: 3))))
        #expect(harness.storeActions.isEmpty)
        #expect(!harness.session.status(now: harness.now).isInSync)
        #expect(harness.session.status(now: harness.now).waitsForNewerServer)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 4, held: 3))))
        #expect(harness.storeActions == [.takeBatch(BatchLimit(transactions: 100, bytes: 500_000))])
    }

    @Test func `transactions that a server does not know after all are sent again with growing waits`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 3))
        var waits: [Duration] = []
        for number in Int64(0)..<5 {
            let sent = OutboxSummary(waiting: 2, sent: 1)
            harness.answerStore(.batchTaken(SessionHarness.batch(number...number, outbox: sent)))
            harness.answerPush(.success(SessionHarness.results(number...number, version: 1)))
            let start = harness.now
            harness.answerStore(.resultsRecorded(OutboxSummary(waiting: 3, held: 1)))
            #expect(harness.push == nil && harness.storeActions.isEmpty)
            harness.wake(while: { $0.storeActions.isEmpty })
            waits.append(harness.now - start)
        }
        #expect(waits[4] > waits[0] * 2, "\(waits)")
    }

    @Test func `while a transaction is held back, each poll sends a hello to learn what the server supports`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.nothingToPush(OutboxSummary(waiting: 1, held: 1)))
        harness.wake(while: { $0.openHello == nil })
        #expect(harness.pull != nil)
        harness.answerHello()
        #expect(harness.storeActions == [.takeBatch(BatchLimit(transactions: 100, bytes: 500_000))])
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push != nil)
    }

    @Test func `while a transaction is held back, a stream of hints that is open again sends a hello`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.nothingToPush(OutboxSummary(waiting: 1, held: 1)))
        let first = harness.hintStreams.max()!
        harness.send(.server(.hint(first, Hint(space: .default, head: .zero))))
        #expect(harness.openHello == nil)
        // The server stops, and starts again with other models.
        harness.send(.server(.hintsEnded(first)))
        harness.wake(while: { $0.hintStreams.max() == first })
        let second = harness.hintStreams.max()!
        #expect(harness.openHello == nil)
        harness.send(.server(.hint(second, Hint(space: .default, head: .zero))))
        #expect(harness.openHello != nil)
        harness.answerHello()
        #expect(harness.storeActions == [.takeBatch(BatchLimit(transactions: 100, bytes: 500_000))])
        harness.send(.server(.hint(second, Hint(space: .default, head: .zero))))
        #expect(harness.openHello == nil)
    }

    @Test func `a push without a response is sent again after its deadline and a new hello`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let lost = harness.push!.serial
        harness.wake(while: { $0.push != nil })
        #expect(harness.send(.server(.pushEnded(lost, .success(SessionHarness.results(0...0, version: 1))))).isEmpty)
        harness.wake(while: { $0.openHello == nil })
        harness.answerHello()
        #expect(harness.storeActions.contains { if case .takeBatch = $0 { true } else { false } })
    }

    @Test func `a requested pause is kept even if the user asks for a sync`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let failure = TransportError(.throttled, "too many requests", retryAfter: .seconds(90))
        let asked = harness.now
        harness.answerPush(.failure(failure))
        harness.send(.host(.syncRequested))
        #expect(harness.storeActions.isEmpty)
        harness.policy.pollInterval = .seconds(3_600)
        harness.wake(while: { $0.storeActions.isEmpty }, failingPullsWith: failure)
        #expect(harness.now - asked >= .seconds(90))
    }

    @Test func `a batch that is too large is halved`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 8))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...7, outbox: OutboxSummary(sent: 8))))
        harness.answerPush(.failure(TransportError(.tooLarge, "too large")))
        #expect(harness.storeActions == [.takeBatch(BatchLimit(transactions: 4, bytes: 500_000))])
    }

    @Test(arguments: [(1, 0, 0), (1, 65_536, 8), (2, 65_536, 0)])
    func `the deadline of a single large transaction includes time for its upload`(
        count: Int64, bytes: Int, seconds: Int
    ) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: Int(count)))
        let batch = SessionHarness.batch(
            0...(count - 1), outbox: OutboxSummary(sent: Int(count)), text: String(repeating: "a", count: bytes))
        let sent = harness.now
        harness.answerStore(.batchTaken(batch))
        harness.wake(while: { $0.push != nil })
        #expect(harness.now - sent == harness.policy.requestDeadline + .seconds(seconds))
    }

    /// Refuses the first transaction, sent alone, until the machine withdraws it. The machine retries the first few
    /// times, because the request could have been damaged in transit.
    private static func refuse(_ harness: inout SessionHarness, _ refusal: TransportError) {
        for attempt in 1...OutboxMachine.refusalsBeforeWithdrawal {
            harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(waiting: 1, sent: 1))))
            harness.answerPush(.failure(refusal))
            guard attempt < OutboxMachine.refusalsBeforeWithdrawal else { return }
            #expect(harness.storeActions.isEmpty)
            let push = harness.session.status(now: harness.now).push
            let isRecovering = if case .recovering = push { true } else { false }
            #expect(isRecovering, "\(push)")
            harness.wake(while: { $0.storeActions.isEmpty }, failingPullsWith: refusal)
        }
    }

    private static let blame: [TransportError.Code: RejectionCode] = [
        .tooLarge: .tooLarge, .forbidden: .forbidden, .refused: .malformed,
    ]

    @Test(arguments: [TransportError.Code.tooLarge, .forbidden, .refused])
    func `a batch that the server itself refuses is halved, and the one refused transaction is withdrawn`(
        code: TransportError.Code
    ) {
        let refusal = TransportError(code, "not this", isDefinite: true)
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 2))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...1, outbox: OutboxSummary(sent: 2))))
        harness.answerPush(.failure(refusal))
        #expect(harness.storeActions == [.takeBatch(BatchLimit(transactions: 1, bytes: 500_000))])
        Self.refuse(&harness, refusal)
        let rejection = Rejection(code: Self.blame[code]!, message: "not this", mutation: nil)
        #expect(harness.storeActions == [.withdraw(.first, rejection, of: SessionHarness.identity)])
        harness.answerStore(.transactionWithdrawn(OutboxSummary(waiting: 1, sent: 1)))
        harness.answerStore(
            .batchTaken(
                SessionHarness.batch(0...0, outbox: OutboxSummary(waiting: 1, sent: 1), isEmptied: true)))
        let rejected = TransactionResult(
            number: .first, outcome: .rejected(Rejection(code: .malformed, message: "empty", mutation: nil)))
        harness.answerPush(.success(.answered([rejected], epoch: SessionHarness.epoch, serverTime: .zero)))
        guard case .record(let results, _, _)? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
        #expect(results == [rejected])
        harness.answerStore(.resultsRecorded(OutboxSummary(waiting: 1, activeJournalEntries: 1)))
        // The other transaction is sent.
        guard case .takeBatch? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
    }

    @Test(arguments: [TransportError.Code.tooLarge, .forbidden, .refused])
    func `an error status that did not come from the server itself removes nothing from the outbox`(
        code: TransportError.Code
    ) {
        let failure = TransportError(code, "a gateway says no")
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        for _ in 0..<5 {
            harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
            harness.answerPush(.failure(failure))
            #expect(harness.storeActions.isEmpty && harness.push == nil)
            guard case .waiting("a gateway says no", _) = harness.session.status(now: harness.now).push else {
                Issue.record("\(harness.session.status(now: harness.now).push)")
                return
            }
            harness.wake(while: { $0.storeActions.isEmpty }, failingPullsWith: failure)
        }
    }

    @Test func `a server that refuses even an empty transaction does not empty the outbox`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(
            .batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1), isEmptied: true)))
        harness.answerPush(.failure(TransportError(.refused, "no such key", isDefinite: true)))
        #expect(harness.storeActions.isEmpty)
        guard case .waiting("no such key", _) = harness.session.status(now: harness.now).push else {
            Issue.record("\(harness.session.status(now: harness.now).push)")
            return
        }
    }

    @Test func `a withdrawal that cannot be recorded is retried`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        Self.refuse(&harness, TransportError(.tooLarge, "too large", isDefinite: true))
        harness.answerStore(.failed(.outbox(.withdrawing), StoreError(.diskFull, "the disk is full")))
        harness.wake(while: { $0.storeActions.isEmpty })
        guard case .takeBatch? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
    }

    @Test(arguments: [PushRefusal.gap(expected: TransactionNumber(3)), .identityConflict(number: TransactionNumber(0))])
    func `a device takes a new client id once if the server expects other transaction numbers`(
        refusal: PushRefusal
    ) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(.refused(refusal)))
        #expect(harness.storeActions == [.renewIdentity])
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(.refused(refusal)))
        #expect(harness.storeActions.isEmpty)
        guard case .waiting = harness.session.status(now: harness.now).push else {
            Issue.record("\(harness.session.status(now: harness.now).push)")
            return
        }
    }

    @Test func `a push response without results does not cause a loop`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(.answered([], epoch: SessionHarness.epoch, serverTime: .zero)))
        #expect(harness.storeActions.isEmpty && harness.push == nil)
    }

    /// A device that accepted the outcome would wait for a version that never arrives.
    @Test func `an outcome whose version differs from its receipt is not accepted, and the push is retried`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let result = TransactionResult(
            number: TransactionNumber(0), outcome: .applied(version: Version(1_000_005), uids: [], conflicts: []),
            receipt: CommitReceipt(space: .default, version: Version(5), cursor: Cursor(rawValue: "at-5")))
        harness.answerPush(.success(.answered([result], epoch: SessionHarness.epoch, serverTime: .zero)))
        guard case .waiting(let reason, _) = harness.session.status(now: harness.now).push else {
            Issue.record("the outbox does not wait")
            return
        }
        #expect(reason == "the server's receipt for transaction 0 has version 5; expected 1000005, as in its outcome")
        harness.wake(while: { $0.storeActions.isEmpty })
        #expect(harness.storeActions.contains { if case .takeBatch = $0 { true } else { false } })
    }

    @Test func `a confirmed transaction that is missing after a complete pull is sent again under a new identity`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        for round in 1...4 {
            harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
            // The engine notices its own commits, too.
            harness.send(.device(.outboxTouched))
            harness.answerStore(.outboxCounted(OutboxSummary(sent: 1)))
            harness.answerPush(.success(SessionHarness.results(0...0, version: 1_000)))
            harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
            harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), head: Version(1)))))
            harness.answerStore(SessionHarness.applied(version: Version(1), outbox: OutboxSummary(answered: 1)))
            // From the second time on, the device waits instead, because the server may never report correct versions.
            #expect(harness.storeActions.contains { $0 == .renewIdentity } == (round == 1))
            if round > 1 {
                guard case .waiting(let reason, _) = harness.session.status(now: harness.now).push else {
                    Issue.record("the outbox does not wait")
                    return
                }
                #expect(reason.hasSuffix("does not contain them"))
                harness.wake(while: { $0.storeActions.isEmpty })
            }
            // The new identity is counted before the machine knows that it is stored.
            harness.send(.device(.outboxTouched))
            harness.answerStore(.outboxCounted(OutboxSummary(waiting: 1)))
            harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        }
    }

    @Test(arguments: [TransportError.Code.serverFailed, .notUnderstood, .refused, .forbidden, .throttled])
    func `a push is retried after any server failure`(code: TransportError.Code) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.failure(TransportError(code, "no")))
        harness.wake(while: { $0.storeActions.isEmpty })
        #expect(harness.storeActions.contains { if case .takeBatch = $0 { true } else { false } })
    }

    @Test func `if the store cannot record outcomes, the same push is sent again`() throws {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        let batch = SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1), text: "a")
        harness.answerStore(.batchTaken(batch))
        let request = try #require(harness.push?.request)
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        harness.answerStore(.failed(.outbox(.recordingResults), StoreError(.diskFull, "the disk is full")))
        let delay = harness.timers.values.min()! - harness.now
        #expect(
            harness.session.status(now: harness.now).push
                == .waiting("the local database failed: the disk is full", retryIn: delay))
        harness.wake(while: { $0.storeActions.isEmpty })
        guard case .takeBatch? = harness.storeActions.first else {
            Issue.record("\(harness.storeActions)")
            return
        }
        harness.answerStore(.batchTaken(batch))
        #expect(harness.push?.request == request)
    }

    @Test func `a reduced batch size grows again with each push that succeeds`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 100))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...99, outbox: OutboxSummary(sent: 100))))
        harness.answerPush(.failure(TransportError(.tooLarge, "too large")))
        var sizes: [Int?] = []
        for number in 0...7 as ClosedRange<Int64> {
            sizes.append(harness.session.outbox.shrunkLimit?.transactions)
            harness.answerStore(.batchTaken(SessionHarness.batch(number...number, outbox: OutboxSummary(waiting: 9))))
            harness.answerPush(.success(SessionHarness.results(number...number, version: 1)))
            harness.answerStore(.resultsRecorded(OutboxSummary(waiting: 9)))
        }
        #expect(harness.policy.batch.transactions == 200)
        #expect(sizes == [50, 62, 77, 96, 120, 150, 187, nil])
    }
}
