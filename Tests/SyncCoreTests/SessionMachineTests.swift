import SyncModel
import Testing

@testable import SyncCore

@Suite struct SessionMachineTests {
    // MARK: Link

    @Test func `when the link is up the session sends a hello, and a valid response starts a pull`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        #expect(harness.openHello != nil)
        harness.answerHello()
        #expect(
            harness.pull?.request
                == PullRequest(space: .default, cursor: nil, limit: 500, account: SessionHarness.account))
        #expect(harness.session.status(now: .zero).connection == .online)
    }

    @Test func `without a link nothing is sent, and the status gives the reason`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(outbox: OutboxSummary(waiting: 3)), .down("no route"))))
        #expect(harness.requests.isEmpty)
        #expect(harness.session.status(now: .zero).connection == .offline("no route"))
        #expect(harness.session.status(now: .zero).push == .held)
        harness.send(.device(.linkChanged(.up)))
        #expect(harness.openHello != nil)
    }

    @Test func `an unreachable server gets another hello after a delay that grows up to its cap`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        var longest = Duration.zero
        for _ in 0..<40 {
            let before = harness.now
            harness.answerHello(.failure(TransportFailure(.unreachable, "refused")))
            #expect(harness.openHello == nil)
            harness.wake()
            let wait = harness.now - before
            #expect(wait >= harness.policy.backoff.floor && wait <= harness.policy.backoff.cap)
            longest = max(longest, wait)
            #expect(harness.openHello != nil)
        }
        #expect(longest > .seconds(30))
    }

    @Test func `after the server refuses the token, nothing is sent until the credentials change`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello(.failure(TransportFailure(.unauthorized, "unknown token")))
        #expect(harness.requests.isEmpty)
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello != nil)
    }

    @Test func `a hello without a response is abandoned at its deadline`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let lost = harness.openHello!
        harness.wake()
        #expect(harness.openHello == nil)
        // A late response changes nothing.
        #expect(harness.send(.server(.helloEnded(lost, .success(SessionHarness.hello)))).isEmpty)
    }

    @Test func `a server with another protocol version is reported with the versions that it supports`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let hello = ServerHello(
            protocolVersions: 7...9, epoch: SessionHarness.epoch, account: SessionHarness.account, serverTime: .zero,
            limits: SessionHarness.hello.limits)
        harness.answerHello(.success(hello))
        guard case .refused(let failure) = harness.session.status(now: .zero).connection else {
            Issue.record("\(harness.session.status(now: .zero).connection)")
            return
        }
        #expect(failure.message.contains("7 to 9"))
    }

    @Test func `a new history is recorded in the store before anything is pulled or pushed`() {
        var harness = SessionHarness()
        harness.send(
            .host(.started(SessionHarness.stored(epoch: Epoch(rawValue: "old"), outbox: OutboxSummary(sent: 1)), .up)))
        harness.answerHello()
        #expect(harness.storeOrders == [.adopt(SessionHarness.epoch, SessionHarness.account)])
        #expect(harness.push == nil && harness.pull == nil)
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        #expect(harness.pull != nil)
        #expect(harness.storeOrders.count == 1)  // the request for a batch
    }

    @Test func `the first server that a device contacts determines the account that owns the database`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(account: nil, outbox: OutboxSummary(waiting: 1)), .up)))
        harness.answerHello()
        #expect(harness.storeOrders == [.adopt(SessionHarness.epoch, SessionHarness.account)])
        #expect(harness.push == nil && harness.pull == nil)
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        #expect(harness.pull != nil)
    }

    @Test func `nothing is pushed or pulled with another account's token until the owner's token is back`() {
        var harness = SessionHarness()
        let owner = AccountID(rawValue: "bo")
        harness.send(.host(.started(SessionHarness.stored(account: owner, outbox: OutboxSummary(waiting: 1)), .up)))
        harness.answerHello()
        #expect(harness.storeOrders.isEmpty && harness.push == nil && harness.pull == nil)
        guard case .refused(let failure) = harness.session.status(now: .zero).connection else {
            Issue.record("\(harness.session.status(now: .zero).connection)")
            return
        }
        #expect(failure.code == .otherAccount && failure.message.contains("'ada'") && failure.message.contains("'bo'"))
        harness.send(.host(.credentialsChanged))
        let hello = SessionHarness.hello
        harness.answerHello(
            .success(
                ServerHello(
                    protocolVersions: hello.protocolVersions, epoch: hello.epoch, account: owner,
                    serverTime: hello.serverTime, limits: hello.limits)))
        #expect(harness.pull?.request.account == owner)
    }

    @Test func `a push refused because the token is another account's stays in the outbox`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push?.request.account == SessionHarness.account)
        harness.answerPush(.failure(TransportFailure(.otherAccount, "the token is of 'bo'")))
        #expect(harness.storeOrders.isEmpty && harness.session.outbox.summary.sent == 1)
        guard case .refused = harness.session.status(now: .zero).connection else {
            Issue.record("\(harness.session.status(now: .zero).connection)")
            return
        }
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello != nil)
    }

    @Test func `two servers with different histories behind one address do not cause a loop`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        for round in 0..<10 {
            guard harness.pull != nil else { break }
            harness.answerPull(.success(.mustReset(.epoch)))
            if harness.openHello == nil {
                #expect(round > 0)
                return
            }
            harness.answerHello()
        }
        Issue.record("ten rounds without a wait")
    }

    // MARK: Outbox

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

    @Test(arguments: [1...1, 1...2, 0...2])
    func `results for transactions that were not sent are ignored, and the push waits to retry`(
        numbers: ClosedRange<Int64>
    ) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 2))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...1, outbox: OutboxSummary(sent: 2))))
        harness.answerPush(.success(SessionHarness.results(numbers, version: 1)))
        #expect(harness.storeOrders.isEmpty && harness.push == nil)
        guard case .waiting(let words, _) = harness.session.status(now: harness.now).push else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("the server answered transaction"))
    }

    @Test func `a write is pushed even if counting the outbox fails`() {
        var harness = SessionHarness.online()
        harness.send(.store(.failed(.session(.countingOutbox), StoreFailure(.busy, "busy"))))
        guard case .takeBatch? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
            return
        }
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push != nil)
    }

    @Test func `only one push is in flight, no matter how much is written in the meantime`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 5, sent: 1))))
        #expect(harness.storeOrders.isEmpty)
        #expect(harness.requests.values.filter { if case .push = $0 { true } else { false } }.count == 1)
    }

    @Test func `an outbox count taken before a push response does not change the status`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 5))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...4, outbox: OutboxSummary(sent: 5))))
        harness.answerPush(.success(SessionHarness.results(0...4, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 5)))
        // This count was read before the results were recorded, and arrives after them.
        harness.send(.store(.outboxCounted(OutboxSummary(sent: 5))))
        harness.answerStore(.nothingToPush(OutboxSummary(answered: 5)))
        #expect(!harness.session.status(now: harness.now).isInSync)
        #expect(harness.session.status(now: harness.now).outbox.answered == 5)
    }

    @Test func `transactions that are held back are not requested again before a hello`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 3))
        harness.answerStore(.nothingToPush(OutboxSummary(waiting: 3, held: 3)))
        #expect(harness.storeOrders.isEmpty)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 3, held: 3))))
        #expect(harness.storeOrders.isEmpty)
        #expect(!harness.session.status(now: harness.now).isInSync)
        #expect(harness.session.status(now: harness.now).waitsForNewerServer)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 4, held: 3))))
        #expect(harness.storeOrders == [.takeBatch(BatchLimit(transactions: 100, bytes: 500_000))])
    }

    @Test func `while a transaction is held back, each poll sends a hello to learn what the server supports`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.nothingToPush(OutboxSummary(waiting: 1, held: 1)))
        while harness.openHello == nil { harness.wake() }
        #expect(harness.pull != nil)
        harness.answerHello()
        #expect(harness.storeOrders == [.takeBatch(BatchLimit(transactions: 100, bytes: 500_000))])
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push != nil)
    }

    @Test func `a push without a response is sent again after its deadline and a new hello`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let lost = harness.push!.serial
        while harness.push != nil { harness.wake() }
        #expect(harness.send(.server(.pushEnded(lost, .success(SessionHarness.results(0...0, version: 1))))).isEmpty)
        while harness.openHello == nil { harness.wake() }
        harness.answerHello()
        #expect(harness.storeOrders.contains { if case .takeBatch = $0 { true } else { false } })
    }

    @Test func `a requested pause is kept even if the user asks for a sync`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let failure = TransportFailure(.throttled, "too many requests", retryAfter: .seconds(90))
        let asked = harness.now
        harness.answerPush(.failure(failure))
        harness.send(.host(.syncRequested))
        #expect(harness.storeOrders.isEmpty)
        while harness.storeOrders.isEmpty {
            harness.policy.pollInterval = .seconds(3_600)
            if harness.pull != nil { harness.answerPull(.failure(failure)) }
            harness.wake()
        }
        #expect(harness.now - asked >= .seconds(90))
    }

    @Test func `a pause requested in response to a hello is kept even if the user asks for a sync`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let asked = harness.now
        harness.answerHello(.failure(TransportFailure(.throttled, "too many requests", retryAfter: .seconds(90))))
        harness.send(.host(.syncRequested))
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello == nil)
        harness.wake()
        #expect(harness.openHello != nil)
        #expect(harness.now - asked >= .seconds(90))
    }

    @Test func `without a requested pause, a sync request from the user is sent at once`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello(.failure(TransportFailure(.throttled, "try again", retryAfter: .zero)))
        harness.send(.host(.syncRequested))
        #expect(harness.openHello != nil)
    }

    @Test func `a batch that is too large is halved`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 8))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...7, outbox: OutboxSummary(sent: 8))))
        harness.answerPush(.failure(TransportFailure(.tooLarge, "too large")))
        #expect(harness.storeOrders == [.takeBatch(BatchLimit(transactions: 4, bytes: 500_000))])
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
        while harness.push != nil { harness.wake() }
        #expect(harness.now - sent == harness.policy.requestDeadline + .seconds(seconds))
    }

    /// Refuses the first transaction, sent alone, until the machine withdraws it. The machine retries the first few
    /// times, because the request could have been damaged in transit.
    private static func refuse(_ harness: inout SessionHarness, _ refusal: TransportFailure) {
        for attempt in 1...OutboxMachine.refusalsBeforeWithdrawal {
            harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(waiting: 1, sent: 1))))
            harness.answerPush(.failure(refusal))
            guard attempt < OutboxMachine.refusalsBeforeWithdrawal else { return }
            #expect(harness.storeOrders.isEmpty)
            for _ in 0..<50 where harness.storeOrders.isEmpty {
                if harness.pull != nil { harness.answerPull(.failure(refusal)) }
                harness.wake()
            }
        }
    }

    private static let blame: [TransportFailure.Code: RejectionCode] = [
        .tooLarge: .tooLarge, .forbidden: .forbidden, .refused: .malformed,
    ]

    @Test(arguments: [TransportFailure.Code.tooLarge, .forbidden, .refused])
    func `a batch that the server itself refuses is halved, and the one refused transaction is withdrawn`(
        code: TransportFailure.Code
    ) {
        let refusal = TransportFailure(code, "not this", isDefinite: true)
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 2))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...1, outbox: OutboxSummary(sent: 2))))
        harness.answerPush(.failure(refusal))
        #expect(harness.storeOrders == [.takeBatch(BatchLimit(transactions: 1, bytes: 500_000))])
        Self.refuse(&harness, refusal)
        let rejection = Rejection(code: Self.blame[code]!, message: "not this", mutation: nil)
        #expect(harness.storeOrders == [.withdraw(.first, rejection, of: SessionHarness.identity)])
        harness.answerStore(.transactionWithdrawn(OutboxSummary(waiting: 1, sent: 1)))
        harness.answerStore(
            .batchTaken(
                SessionHarness.batch(0...0, outbox: OutboxSummary(waiting: 1, sent: 1), isWithdrawal: true)))
        let rejected = TransactionResult(
            number: .first, outcome: .rejected(Rejection(code: .malformed, message: "empty", mutation: nil)))
        harness.answerPush(.success(.answered([rejected], epoch: SessionHarness.epoch, serverTime: .zero)))
        guard case .record(let results, _, _)? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
            return
        }
        #expect(results == [rejected])
        harness.answerStore(.resultsRecorded(OutboxSummary(waiting: 1, journal: 1)))
        // The other transaction is sent.
        guard case .takeBatch? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
            return
        }
    }

    @Test(arguments: [TransportFailure.Code.tooLarge, .forbidden, .refused])
    func `an error status that did not come from the server itself removes nothing from the outbox`(
        code: TransportFailure.Code
    ) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        for _ in 0..<5 {
            harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
            harness.answerPush(.failure(TransportFailure(code, "a gateway says no")))
            #expect(harness.storeOrders.isEmpty && harness.push == nil)
            guard case .waiting("a gateway says no", _) = harness.session.status(now: harness.now).push else {
                Issue.record("\(harness.session.status(now: harness.now).push)")
                return
            }
            while harness.storeOrders.isEmpty {
                if harness.pull != nil { harness.answerPull(.failure(TransportFailure(code, "a gateway says no"))) }
                harness.wake()
            }
        }
    }

    @Test func `a server that refuses even an empty transaction does not empty the outbox`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(
            .batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1), isWithdrawal: true)))
        harness.answerPush(.failure(TransportFailure(.refused, "no such key", isDefinite: true)))
        #expect(harness.storeOrders.isEmpty)
        guard case .waiting("no such key", _) = harness.session.status(now: harness.now).push else {
            Issue.record("\(harness.session.status(now: harness.now).push)")
            return
        }
    }

    @Test func `a withdrawal that cannot be recorded is retried`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        Self.refuse(&harness, TransportFailure(.tooLarge, "too large", isDefinite: true))
        harness.answerStore(.failed(.outbox(.withdrawing), StoreFailure(.diskFull, "the disk is full")))
        while harness.storeOrders.isEmpty { harness.wake() }
        guard case .takeBatch? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
            return
        }
    }

    @Test(arguments: [PushRefusal.gap(expected: TransactionNumber(3)), .identityConflict(number: TransactionNumber(0))])
    func `a client takes a new incarnation once if the server expects other transaction numbers`(
        refusal: PushRefusal
    ) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(.refused(refusal)))
        #expect(harness.storeOrders == [.renewIdentity])
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(.refused(refusal)))
        #expect(harness.storeOrders.isEmpty)
        guard case .waiting = harness.session.status(now: harness.now).push else {
            Issue.record("\(harness.session.status(now: harness.now).push)")
            return
        }
    }

    @Test func `a push response without results does not cause a loop`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(.answered([], epoch: SessionHarness.epoch, serverTime: .zero)))
        #expect(harness.storeOrders.isEmpty && harness.push == nil)
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
        #expect(reason == "the server's receipt for transaction 0 is of version 5, its outcome of 1000005")
        while harness.storeOrders.isEmpty { harness.wake() }
        #expect(harness.storeOrders.contains { if case .takeBatch = $0 { true } else { false } })
    }

    @Test func `a confirmed transaction that is missing after a complete pull is sent again under a new identity`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        for round in 1...4 {
            harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
            harness.answerPush(.success(SessionHarness.results(0...0, version: 1_000)))
            harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
            harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), head: Version(1)))))
            harness.answerStore(SessionHarness.applied(version: Version(1), outbox: OutboxSummary(answered: 1)))
            // The second time, the server may be one that never reports correct versions.
            #expect(harness.storeOrders.contains { $0 == .renewIdentity } == (round == 1))
            if round > 1 {
                guard case .waiting(let reason, _) = harness.session.status(now: harness.now).push else {
                    Issue.record("the outbox does not wait")
                    return
                }
                #expect(reason.hasSuffix("and does not show them"))
                while harness.storeOrders.isEmpty { harness.wake() }
            }
            harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        }
    }

    @Test(arguments: [TransportFailure.Code.serverFailed, .notUnderstood, .refused, .forbidden, .throttled])
    func `a push is retried after any server failure`(code: TransportFailure.Code) {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.failure(TransportFailure(code, "no")))
        while harness.storeOrders.isEmpty { harness.wake() }
        #expect(harness.storeOrders.contains { if case .takeBatch = $0 { true } else { false } })
    }

    @Test func `if the store cannot record outcomes, the same push is sent again`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        harness.answerStore(.failed(.outbox(.recordingResults), StoreFailure(.diskFull, "the disk is full")))
        #expect(
            harness.session.status(now: harness.now).push
                == .waiting("the disk is full", retryIn: harness.timers.values.min()! - harness.now))
        while harness.storeOrders.isEmpty { harness.wake() }
    }

    // MARK: Pull

    @Test func `each page is requested after the previous one has been applied, until there are no more`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello()
        for version in 1...5 as ClosedRange<Int64> {
            harness.answerPull(
                .success(.page(SessionHarness.page(version: Version(version), head: Version(5), hasMore: version < 5))))
            #expect(harness.pull == nil)
            harness.answerStore(SessionHarness.applied(version: Version(version)))
            #expect(harness.pull?.request.cursor == (version < 5 ? Cursor(rawValue: "at-\(version)") : nil))
        }
        #expect(harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a page that promises more but repeats the cursor is not applied`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero, cursor: "at-0", hasMore: true))))
        #expect(harness.pull == nil && harness.storeOrders.isEmpty)
    }

    @Test func `a page that promises more but does not advance the version does not cause a loop`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero, cursor: "another", hasMore: true))))
        #expect(harness.pull == nil && harness.storeOrders.isEmpty)
    }

    @Test func `a reduced page size grows again with each page that arrives`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        // The page does not arrive before its deadline, so the session waits and sends another hello.
        harness.wake()
        harness.wake()
        harness.answerHello()
        var sizes: [Int?] = []
        for version in 1...5 as ClosedRange<Int64> {
            sizes.append(harness.session.pulls[0].shrunkPage)
            harness.answerPull(
                .success(.page(SessionHarness.page(version: Version(version), head: Version(30), hasMore: true))))
            harness.answerStore(SessionHarness.applied(version: Version(version)))
        }
        #expect(harness.policy.pageRows == 1_000)
        #expect(sizes == [500, 625, 781, 976, nil])
    }

    @Test func `a reduced batch size grows again with each push that succeeds`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 100))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...99, outbox: OutboxSummary(sent: 100))))
        harness.answerPush(.failure(TransportFailure(.tooLarge, "too large")))
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

    @Test func `a requested pause before the next hint stream is kept`() {
        var harness = SessionHarness.online()
        harness.policy.pollInterval = .seconds(3_600)
        harness.send(.server(.hintsEnded(harness.hintStreams.first!, "busy", retryAfter: .seconds(600))))
        let ended = harness.now
        for _ in 0..<99 where harness.session.hints.state.isWaiting {
            harness.wake()
            if harness.pull != nil { harness.answerPull(.success(.page(SessionHarness.page(version: .zero)))) }
            if !harness.storeOrders.isEmpty { harness.answerStore(SessionHarness.applied(version: .zero)) }
        }
        #expect(harness.now - ended >= .seconds(600))
    }

    @Test func `hint streams that end repeatedly do not delay the poll`() {
        var harness = SessionHarness.online()
        let due = Array(harness.timers.values).max()!
        for _ in 0..<5 {
            let stream = harness.hintStreams.first!
            harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
            harness.send(.server(.hintsEnded(stream, "cut")))
            #expect(harness.timers.values.contains(due))
            while harness.hintStreams.isEmpty { harness.wake() }
        }
    }

    @Test func `a page with an older version than the last one is not applied`() {
        var harness = SessionHarness()
        harness.send(
            .host(
                .started(
                    SessionHarness.stored(cursor: Cursor(rawValue: "at-9"), version: Version(9), isComplete: true), .up)
            ))
        harness.answerHello()
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(8)))))
        #expect(harness.storeOrders.isEmpty)
        guard case .waiting(let words, _) = harness.session.status(now: harness.now).spaces[0].pull else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("went back from version 9 to 8"))
    }

    @Test func `a page of another history that arrives while the server is unreachable is not applied`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(
            .batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.failure(TransportFailure(.unreachable, "the server is replaced")))
        #expect(harness.pull != nil)
        harness.answerPull(
            .success(.page(SessionHarness.page(version: Version(1), epoch: Epoch(rawValue: "another")))))
        #expect(harness.storeOrders.isEmpty)
    }

    /// Returns a session that has pushed one transaction, and the receipt with which the server confirmed it at version
    /// 2.
    private func confirmedAtTwo() -> (SessionHarness, CommitReceipt) {
        let receipt = CommitReceipt(space: .default, version: Version(2), cursor: Cursor(rawValue: "receipt"))
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(
            .success(
                .answered(
                    [
                        TransactionResult(
                            number: .first, outcome: .applied(version: Version(2), uids: [], conflicts: []),
                            receipt: receipt)
                    ], epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1))))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        return (harness, receipt)
    }

    @Test func `pulls carry the receipt of a confirmed commit until they have reached its version`() {
        var (harness, receipt) = confirmedAtTwo()
        #expect(harness.pull?.request.receipt == receipt.cursor)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(2)))))
        harness.answerStore(SessionHarness.applied(version: Version(2)))
        harness.send(.host(.syncRequested))
        harness.send(.store(.outboxCounted(OutboxSummary())))
        #expect(harness.pull?.request.cursor == Cursor(rawValue: "at-2"))
        #expect(harness.pull?.request.receipt == nil)
    }

    @Test func `a head below a confirmed version puts the history in doubt, and the pull is retried later`() {
        var (harness, receipt) = confirmedAtTwo()
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        #expect(harness.storeOrders.isEmpty)
        let space = harness.session.status(now: harness.now).spaces[0]
        #expect(space.historyIsInDoubt)
        #expect(!harness.session.status(now: harness.now).isInSync)
        guard case .waiting(let words, let delay) = space.pull else {
            Issue.record("\(space)")
            return
        }
        #expect(words.contains("restored from an older copy"))
        #expect(delay > .zero)
        harness.send(.host(.syncRequested))
        #expect(harness.pull?.request.receipt == receipt.cursor)
    }

    @Test func `a page requested before a commit was confirmed may end below that commit`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        #expect(harness.pull != nil)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        let receipt = CommitReceipt(space: .default, version: Version(1), cursor: Cursor(rawValue: "receipt"))
        harness.answerPush(
            .success(
                .answered(
                    [
                        TransactionResult(
                            number: .first, outcome: .applied(version: Version(1), uids: [], conflicts: []),
                            receipt: receipt)
                    ], epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1))))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        #expect(!harness.session.status(now: harness.now).spaces[0].historyIsInDoubt)
        #expect(harness.storeOrders.count == 1, "the page is applied")
    }

    @Test func `a cursor that the server cannot read is replaced by a snapshot`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.mustReset(.cursor)))
        #expect(harness.storeOrders.contains(.resetCursor(.default)))
        harness.answerStore(.cursorReset(.default))
        #expect(harness.pull != nil)
        #expect(harness.pull?.request.cursor == nil)
    }

    @Test func `a snapshot in response to a cursor is not applied`() {
        var harness = SessionHarness()
        harness.send(
            .host(
                .started(
                    SessionHarness.stored(cursor: Cursor(rawValue: "at-9"), version: Version(9), isComplete: true), .up)
            ))
        harness.answerHello()
        let page = PullPage(
            space: .default, epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1),
            content: .snapshot([], isFirst: true, isLast: true), cursor: Cursor(rawValue: "at-0"), version: .zero,
            head: .zero, hasMore: false)
        harness.answerPull(.success(.page(page)))
        #expect(harness.storeOrders.isEmpty)
        guard case .waiting(let words, _) = harness.session.status(now: harness.now).spaces[0].pull else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("begins again with a snapshot"))
    }

    /// Answers pulls and applies pages until another action is requested or `count` pulls have been answered.
    private static func pulls(_ harness: inout SessionHarness, _ count: Int, _ page: (Int) -> PullPage) -> Int {
        var served = 0
        for _ in 0..<10_000 where served < count {
            if harness.pull != nil {
                harness.answerPull(.success(.page(page(served))))
                served += 1
            } else if case .apply(let page, _, _)? = harness.storeOrders.first {
                harness.answerStore(SessionHarness.applied(version: page.version, cursor: page.cursor.rawValue))
            } else if case .resetCursor? = harness.storeOrders.first {
                harness.answerStore(.cursorReset(.default))
            } else {
                return served
            }
        }
        return served
    }

    @Test func `a server that alternates between two cursors without progress is asked once per poll`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        let served = Self.pulls(&harness, 100) { turn in
            SessionHarness.page(version: .zero, head: Version(9), cursor: turn.isMultiple(of: 2) ? "a" : "b")
        }
        #expect(served == 1)
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
        guard case .waiting(let words, _) = harness.session.status(now: harness.now).spaces[0].pull else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(words.contains("in a circle"))
        #expect(harness.notes.contains(.failed(code: "contradiction", message: words)))
    }

    @Test
    func `after a contradictory page the session retries, then takes fresh snapshots, and finally retries rarely`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        let contradiction = StoreFailure(.contradiction, "uid 7 is of another record")
        var resets = 0
        var waits: [Duration] = []
        for _ in 0..<8 {
            harness.answerPull(.success(.page(SessionHarness.page(version: Version(3)))))
            harness.answerStore(.failed(.space(.default, .applyingPage), contradiction))
            #expect(
                harness.session.status(now: harness.now).spaces[0].pull.words == contradiction.message,
                "\(harness.session.status(now: harness.now))")
            let before = harness.now
            for _ in 0..<50 where harness.pull == nil && harness.storeOrders.isEmpty { harness.wake() }
            waits.append(harness.now - before)
            if case .resetCursor? = harness.storeOrders.first {
                resets += 1
                harness.answerStore(.cursorReset(.default))
                #expect(harness.pull?.request.cursor == nil)
            }
        }
        #expect(resets == 7)
        #expect(waits.prefix(5).allSatisfy { $0 <= harness.policy.backoff.cap })
        #expect(waits.dropFirst(5).allSatisfy { $0 == PullMachine.restAfterContradictions })
        // A consistent page is applied, and resets the count of contradictions.
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(3)))))
        harness.answerStore(SessionHarness.applied(version: Version(3)))
        #expect(harness.session.status(now: harness.now).isInSync)
        #expect(harness.session.pulls[0].contradictions == 0)
        #expect(harness.notes.last == .inSync)
    }

    @Test func `a snapshot that restarts repeatedly waits longer each time`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello()
        var waits: [Duration] = []
        for turn in 0..<40 {
            let page = PullPage(
                space: .default, epoch: SessionHarness.epoch, serverTime: HybridTime(rawValue: 1),
                content: .snapshot([], isFirst: true, isLast: false), cursor: Cursor(rawValue: "page-\(turn)"),
                version: Version(1), head: Version(1), hasMore: true)
            harness.answerPull(.success(.page(page)))
            harness.answerStore(
                .pageApplied(
                    .default,
                    .applied(
                        StoredSpace(space: .default, cursor: page.cursor, version: Version(1), isComplete: false),
                        outbox: OutboxSummary(), changedRecords: 1)))
            harness.answerPull(.success(.mustReset(.horizon)))
            let before = harness.now
            for _ in 0..<50 where harness.storeOrders.isEmpty { harness.wake() }
            waits.append(harness.now - before)
            harness.answerStore(.cursorReset(.default))
        }
        #expect(harness.notes.last.map { if case .failed("reset", _) = $0 { true } else { false } } == true)
        #expect(waits.max()! > .seconds(30))
    }

    @Test func `a pause that the server requested in an earlier run is kept`() {
        var stored = SessionHarness.stored()
        stored.pause = .seconds(90)
        var harness = SessionHarness()
        harness.send(.host(.started(stored, .up)))
        harness.send(.host(.syncRequested))
        #expect(harness.openHello == nil)
        guard case .waiting(let failure, .seconds(90)) = harness.session.status(now: harness.now).connection else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(failure.code == .throttled)
        harness.wake()
        #expect(harness.openHello != nil && harness.now == .seconds(90))
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

    @Test func `on a very slow link pages shrink to one row, and their deadlines grow`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        var limits: [Int] = []
        var deadlines: [Duration] = []
        for _ in 0..<12 {
            limits.append(harness.pull!.request.limit)
            let asked = harness.now
            for _ in 0..<10 where harness.pull != nil { harness.wake() }
            deadlines.append(harness.now - asked)
            for _ in 0..<10 where harness.openHello == nil { harness.wake() }
            harness.answerHello()
        }
        #expect(limits == [500, 500, 250, 125, 62, 50, 12, 3, 1, 1, 1, 1])
        #expect(deadlines.prefix(6).allSatisfy { $0 == harness.policy.requestDeadline })
        #expect(deadlines.suffix(6) == [60, 120, 240, 480, 600, 600].map { .seconds($0) })
    }

    @Test(arguments: [(90, true), (91, false)])
    func `consent to deletes given during another pull is kept, but covers only the number agreed to`(
        deletes: Int, isEnough: Bool
    ) {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 90, of: 100)))
        for _ in 0..<10 where harness.pull == nil { harness.wake() }
        harness.send(.host(.deletesAllowed(.default)))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(2)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: deletes, of: 100)))
        if isEnough {
            guard case .apply(_, _, brake: nil)? = harness.storeOrders.first else {
                Issue.record("\(harness.storeOrders)")
                return
            }
        } else {
            #expect(harness.storeOrders.isEmpty)
            #expect(
                harness.session.status(now: harness.now).spaces[0].pull == .braked(deletes: deletes, of: 100))
        }
    }

    @Test func `consent given before the brake asked for it is ignored`() {
        var harness = SessionHarness.online()
        harness.send(.host(.deletesAllowed(.default)))
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 9, of: 9)))
        #expect(harness.storeOrders.isEmpty)
    }

    @Test
    func `a page is applied after the cursor it was requested with, and the session follows the store's new cursor`() {
        var harness = SessionHarness()
        harness.send(
            .host(
                .started(
                    SessionHarness.stored(cursor: Cursor(rawValue: "at-9"), version: Version(9), isComplete: true), .up)
            ))
        harness.answerHello()
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(12)))))
        guard case .apply(_, after: Cursor(rawValue: "at-9"), _)? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
            return
        }
        // Another engine has started a snapshot in the meantime.
        let elsewhere = StoredSpace(
            space: .default, cursor: Cursor(rawValue: "page-2"), version: Version(11), isComplete: false)
        harness.answerStore(
            .pageApplied(.default, .applied(elsewhere, outbox: OutboxSummary(), changedRecords: 0)))
        #expect(harness.pull?.request.cursor == Cursor(rawValue: "page-2"))
    }

    @Test func `a page that could not be written to disk is requested again`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(3)))))
        harness.answerStore(
            .failed(.space(.default, .applyingPage), StoreFailure(.inputOutput, "the disk failed")))
        while harness.pull == nil, harness.storeOrders.isEmpty { harness.wake() }
        #expect(harness.storeOrders.isEmpty)
    }

    @Test func `a hint of a newer version starts a pull, and a hint of an old version does not`() {
        var harness = SessionHarness.online()
        let stream = harness.hintStreams.first!
        harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
        #expect(harness.pull == nil)
        harness.send(.server(.hint(stream, Hint(space: .default, head: Version(4)))))
        #expect(harness.pull != nil)
        // The pull in flight already reaches this version, so the hint requests nothing more.
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

    @Test func `a cursor below the horizon starts a snapshot at once, and the next one after a delay`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.mustReset(.horizon)))
        #expect(harness.storeOrders == [.resetCursor(.default)])
        harness.answerStore(.cursorReset(.default))
        #expect(harness.pull?.request.cursor == nil)
        harness.answerPull(.success(.mustReset(.horizon)))
        #expect(harness.storeOrders.isEmpty && harness.pull == nil)
        while harness.storeOrders.isEmpty { harness.wake() }
        #expect(harness.storeOrders == [.resetCursor(.default)])
    }

    private static let vacating = StoreAction.vacate(
        .default, of: SessionHarness.epoch, brake: SyncPolicy().deleteBrake)

    @Test func `a loss of access that would remove many records waits for the user's consent`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        harness.answerStore(.spaceVacated(.default, .braked(deletes: 90, of: 90)))
        let status = harness.session.status(now: harness.now)
        #expect(status.spaces[0].pull == .braked(deletes: 90, of: 90) && !status.isInSync)
        harness.send(.host(.deletesAllowed(.default)))
        #expect(harness.storeOrders == [.vacate(.default, of: SessionHarness.epoch, brake: nil)])
        harness.answerStore(SessionHarness.vacated(removed: 90))
        #expect(harness.session.status(now: harness.now).isInSync)
    }

    @Test func `a space that waits for the user's consent is still polled, and learns that access is gone`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 90, of: 100)))
        let held = harness.now
        while harness.pull == nil { harness.wake() }
        #expect(harness.now - held == SyncPolicy().pollIntervalWithHints)
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        #expect(harness.storeOrders == [Self.vacating])
    }

    @Test func `a pending question about deletes survives the loss of the link`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 90, of: 100)))
        harness.send(.device(.linkChanged(.down("no carrier"))))
        for _ in 0..<3 { harness.wake() }
        harness.send(.host(.deletesAllowed(.default)))
        guard case .apply(_, _, brake: nil)? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
            return
        }
    }

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
        #expect(harness.storeOrders == [Self.vacating])
        #expect(harness.session.status(now: harness.now).spaces[0].pull == .working)
        harness.answerStore(SessionHarness.vacated(removed: 3))
        let status = harness.session.status(now: harness.now)
        #expect(!status.spaces[0].hasAccess && status.spaces[0].pull == .idle)
        // The device holds everything that it may read.
        #expect(status.isInSync)
        let rested = harness.now
        #expect(harness.pull == nil)
        while harness.pull == nil { harness.wake() }
        #expect(harness.now - rested == SyncPolicy().pollIntervalWithHints)
        #expect(harness.pull?.request.cursor == nil)
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(SessionHarness.applied(version: Version(1)))
        #expect(harness.session.status(now: harness.now).spaces[0].hasAccess)
    }

    @Test func `a loss of access reported for another history does not vacate the space`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.noAccess(Epoch(rawValue: "another"))))
        #expect(harness.storeOrders.isEmpty)
        #expect(harness.openHello != nil)
    }

    @Test func `a push to a space without access does not start a pull before the next poll`() {
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
        while harness.pull == nil { harness.wake() }
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
        harness.answerStore(.failed(.space(.default, .vacating), StoreFailure(.diskFull, "the disk is full")))
        #expect(harness.pull == nil && !harness.session.status(now: harness.now).isInSync)
        while harness.pull == nil { harness.wake() }
        harness.answerPull(.success(.noAccess(SessionHarness.epoch)))
        #expect(harness.storeOrders == [Self.vacating])
    }

    @Test func `a snapshot held by the delete brake waits for the user's consent`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1)))))
        harness.answerStore(.pageApplied(.default, .braked(deletes: 90, of: 100)))
        #expect(harness.session.status(now: harness.now).spaces[0].pull == .braked(deletes: 90, of: 100))
        harness.send(.host(.syncRequested))
        #expect(harness.pull == nil)
        harness.send(.host(.deletesAllowed(.default)))
        guard case .apply(_, _, brake: nil)? = harness.storeOrders.first else {
            Issue.record("\(harness.storeOrders)")
            return
        }
    }

    @Test func `pushes and pulls do not wait for each other`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        #expect(harness.pull != nil)
        harness.send(.store(.outboxCounted(OutboxSummary(waiting: 1))))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push != nil && harness.pull != nil)
    }

    @Test func `an idle session wakes only for its poll, which is less frequent while hints arrive`() {
        var harness = SessionHarness.online()
        #expect(harness.requests.isEmpty)
        // Until a stream has delivered a hint, the server may not have opened it.
        #expect(Array(harness.timers.values) == [harness.policy.pollInterval])
        let stream = harness.hintStreams.first!
        harness.send(.server(.hint(stream, Hint(space: .default, head: .zero))))
        harness.wake()
        harness.answerPull(.success(.page(SessionHarness.page(version: .zero))))
        harness.answerStore(SessionHarness.applied(version: .zero))
        #expect(Array(harness.timers.values) == [harness.now + harness.policy.pollIntervalWithHints])
        harness.send(.server(.hintsEnded(stream, "the server closed the stream")))
        #expect(harness.timers.values.contains(harness.now + harness.policy.pollInterval))
        #expect(!harness.timers.values.contains(harness.now + harness.policy.pollIntervalWithHints))
    }

    @Test(arguments: [TransportFailure.Code.unauthorized, .forbidden])
    func `a pause requested with a refusal is kept even after the credentials change`(code: TransportFailure.Code) {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let pause = harness.policy.refusalRetry + .seconds(60)
        harness.answerHello(.failure(TransportFailure(code, "not now", retryAfter: pause)))
        #expect(Array(harness.timers.values) == [pause])
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello == nil)
        harness.wake()
        #expect(harness.now == pause && harness.openHello != nil)
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
        #expect(harness.log.last?.contains("other") == true)
        harness.answerPush(.success(SessionHarness.results(0...0, version: 1)))
        harness.answerStore(.resultsRecorded(OutboxSummary(answered: 1)))
        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), of: other))))
        harness.answerStore(SessionHarness.applied(version: Version(1), of: other))
        #expect(harness.timers.values.allSatisfy { $0 <= harness.now + harness.policy.pollInterval })
    }

    // MARK: Stop

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

extension SyncStatus.Activity {
    fileprivate var words: String? {
        if case .waiting(let words, _) = self { words } else { nil }
    }
}

extension HintsMachine.State {
    fileprivate var isWaiting: Bool {
        if case .waiting = self { true } else { false }
    }
}
