import SyncModel
import Testing

@testable import SyncCore

/// The link to the server: hellos, waits, and refusals.
@Suite struct LinkMachineTests {
    @Test func `a link that is up gets a hello, and a good answer starts a pull`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        #expect(harness.openHello != nil)
        harness.answerHello()
        #expect(
            harness.pull?.request
                == PullRequest(space: .default, cursor: nil, limit: 500, account: SessionHarness.account))
        #expect(harness.session.status(now: .zero).connection == .online)
    }

    @Test func `without a link nothing is sent, and the status says why`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(outbox: OutboxSummary(waiting: 3)), .down("no route"))))
        #expect(harness.requests.isEmpty)
        #expect(harness.session.status(now: .zero).connection == .offline("no route"))
        #expect(harness.session.status(now: .zero).push == .held)
        harness.send(.device(.linkChanged(.up)))
        #expect(harness.openHello != nil)
    }

    @Test func `an unreachable server gets a hello again after a wait that grows up to its cap`() {
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

    @Test func `a server that refuses the token is left alone until the credentials change`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello(.failure(TransportFailure(.unauthorized, "unknown token")))
        #expect(harness.requests.isEmpty)
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello != nil)
    }

    @Test func `a hello that is never answered is abandoned at its deadline`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let lost = harness.openHello!
        harness.wake()
        #expect(harness.openHello == nil)
        // The late answer changes nothing.
        #expect(harness.send(.server(.helloEnded(lost, .success(SessionHarness.hello)))).isEmpty)
    }

    @Test func `a server of another protocol is named with its versions`() {
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

    @Test func `another history is noted in the store before anything is pulled or pushed`() {
        var harness = SessionHarness()
        harness.send(
            .host(.started(SessionHarness.stored(epoch: Epoch(rawValue: "old"), outbox: OutboxSummary(sent: 1)), .up)))
        harness.answerHello()
        #expect(harness.storeOrders == [.adopt(SessionHarness.epoch, SessionHarness.account)])
        #expect(harness.push == nil && harness.pull == nil)
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        #expect(harness.pull != nil)
        #expect(harness.storeOrders.count == 1)  // a batch is asked for
    }

    @Test func `the first server that is met says to whom the database belongs`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(account: nil, outbox: OutboxSummary(waiting: 1)), .up)))
        harness.answerHello()
        #expect(harness.storeOrders == [.adopt(SessionHarness.epoch, SessionHarness.account)])
        #expect(harness.push == nil && harness.pull == nil)
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        #expect(harness.pull != nil)
    }

    @Test func `nothing is sent or asked for with the token of another account, until its owner is back`() {
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

    @Test func `a push whose token has changed on the way is kept, and the server gets a new hello`() {
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

    @Test func `two servers with different histories behind one address do not make a loop`() {
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

    @Test func `a server that asks for a pause in answer to a hello gets it, also from an impatient user`() {
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

    @Test func `a server that asks for no pause does not bind an impatient user`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        harness.answerHello(.failure(TransportFailure(.throttled, "try again", retryAfter: .zero)))
        harness.send(.host(.syncRequested))
        #expect(harness.openHello != nil)
    }

    @Test func `a pause that a server asked an earlier run for is kept`() {
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

    @Test(arguments: [TransportFailure.Code.unauthorized, .forbidden])
    func `a pause that comes with a refusal is kept, also by new credentials`(code: TransportFailure.Code) {
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
}
