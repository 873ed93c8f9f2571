import SyncModel
import Testing

@testable import SyncCore

/// The link to the server: hellos, waits, and refusals.
@Suite struct LinkMachineTests {
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
        #expect(harness.session.status(now: .zero).push == .waitingForConnection)
        harness.send(.device(.linkChanged(.up)))
        #expect(harness.openHello != nil)
    }

    @Test func `an unreachable server gets another hello after a delay that grows up to its cap`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        var longest = Duration.zero
        for _ in 0..<40 {
            let before = harness.now
            harness.answerHello(.failure(TransportError(.unreachable, "refused")))
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
        harness.answerHello(.failure(TransportError(.unauthorized, "unknown token")))
        #expect(harness.requests.isEmpty)
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello != nil)
    }

    @Test func `a request that fails with the old token after the credentials have changed has no effect`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        guard let (serial, request) = harness.pull else {
            Issue.record("no pull is open")
            return
        }
        harness.send(.host(.credentialsChanged))
        let hello = harness.openHello
        #expect(hello != nil)
        harness.send(.server(.pullEnded(serial, request.space, .failure(TransportError(.unauthorized, "revoked")))))
        #expect(harness.openHello == hello, "the new token is still being tried")
        // If the credentials change again, another hello replaces the hello in flight.
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello != nil && harness.openHello != hello)
        harness.answerHello()
        #expect(harness.session.status(now: harness.now).connection == .online)
        #expect(harness.pull != nil)
    }

    @Test(arguments: [TransportError.Code.throttled, .serverFailed])
    func `a server that asks to wait is reported with its pause`(code: TransportError.Code) {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let busy = TransportError(code, "busy", retryAfter: .seconds(90))
        harness.answerHello(.failure(busy))
        let status = harness.session.status(now: harness.now)
        guard case .paused(busy, let delay) = status.connection else {
            Issue.record("\(status.connection)")
            return
        }
        #expect(delay >= .seconds(90) && status.isPaused)
        #expect(status.pausedUntil == nil, "the engine adds the end of the pause")
    }

    @Test func `a push that the server asks to send later is a pause of a connection that is online`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        harness.answerPush(.failure(TransportError(.throttled, "busy", retryAfter: .seconds(90))))
        let status = harness.session.status(now: harness.now)
        #expect(status.connection == .online && status.isPaused)
    }

    @Test func `up to three late pages in a row count as recoverable, and a late hello does not`() {
        func isRecovering(_ harness: SessionHarness) -> Bool {
            switch harness.session.status(now: harness.now).connection {
            case .recovering(let failure, let delay): failure.code == .timedOut && delay > .zero
            case .waiting, .paused, .storeFailed, .notRunning, .offline, .connecting, .online, .refused, .stopped: false
            }
        }
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        /// Lets a page miss its deadline, and answers the next hello. Returns whether the session is recovering in
        /// between.
        func letPageBeLate() -> Bool {
            harness.wake()
            defer {
                harness.wake()
                harness.answerHello()
            }
            return isRecovering(harness)
        }
        #expect((1...5).map { _ in letPageBeLate() } == [true, true, true, false, false])

        harness.answerPull(.success(.page(SessionHarness.page(version: Version(1), head: Version(9), hasMore: true))))
        harness.answerStore(SessionHarness.applied(version: Version(1)))
        harness.wake()
        #expect(isRecovering(harness), "a page that arrives begins the count again")
        harness.wake()
        harness.wake()
        #expect(harness.openHello == nil && !isRecovering(harness), "a hello cannot become smaller")
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
        #expect(harness.storeActions == [.adopt(SessionHarness.epoch, SessionHarness.account)])
        #expect(harness.push == nil && harness.pull == nil)
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        #expect(harness.pull != nil)
        #expect(harness.storeActions.count == 1)  // the request for a batch
    }

    @Test func `the first server that a device contacts determines the account that owns the database`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(account: nil, outbox: OutboxSummary(waiting: 1)), .up)))
        harness.answerHello()
        #expect(harness.storeActions == [.adopt(SessionHarness.epoch, SessionHarness.account)])
        #expect(harness.push == nil && harness.pull == nil)
        harness.answerStore(.sessionChanged(SessionHarness.stored(outbox: OutboxSummary(waiting: 1))))
        #expect(harness.pull != nil)
    }

    @Test func `nothing is pushed or pulled with another account's token until the owner's token is back`() {
        var harness = SessionHarness()
        let owner = AccountID(rawValue: "bo")
        let stored = SessionHarness.stored(
            account: owner, outbox: OutboxSummary(waiting: 1), cursor: Cursor(rawValue: "1"), version: Version(1))
        harness.send(.host(.started(stored, .up)))
        harness.answerHello()
        #expect(harness.storeActions.isEmpty && harness.push == nil && harness.pull == nil)
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

    @Test func `after a hello alone, another account takes the database, unless the store knows more`() {
        for isRefused in [false, true] {
            var harness = SessionHarness()
            let owner = AccountID(rawValue: "bo")
            harness.send(.host(.started(SessionHarness.stored(account: owner), .up)))
            harness.answerHello()
            #expect(harness.storeActions == [.adopt(SessionHarness.epoch, SessionHarness.account)])
            #expect(harness.push == nil && harness.pull == nil)
            if isRefused {
                let refusal = TransportError.otherAccount(SessionHarness.account, than: owner)
                harness.answerStore(.failed(.session(.adopting), StoreError(.otherAccount, refusal.message)))
                #expect(harness.session.status(now: .zero).connection == .refused(refusal))
                #expect(harness.pull == nil)
            } else {
                harness.answerStore(.sessionChanged(SessionHarness.stored()))
                #expect(harness.pull?.request.account == SessionHarness.account)
            }
        }
    }

    @Test func `another account does not take the database while a page is on its way to the first one`() {
        var harness = SessionHarness.online()
        harness.send(.host(.syncRequested))
        #expect(harness.pull?.request.account == SessionHarness.account)
        harness.send(.host(.credentialsChanged))
        let hello = SessionHarness.hello
        harness.answerHello(
            .success(
                ServerHello(
                    protocolVersions: hello.protocolVersions, epoch: hello.epoch, account: AccountID(rawValue: "bo"),
                    serverTime: hello.serverTime, limits: hello.limits)))
        #expect(!harness.storeActions.contains { if case .adopt = $0 { true } else { false } })
        guard case .refused(let failure) = harness.session.status(now: harness.now).connection else {
            Issue.record("\(harness.session.status(now: harness.now).connection)")
            return
        }
        #expect(failure.code == .otherAccount)
    }

    @Test func `a push refused because the token is another account's stays in the outbox`() {
        var harness = SessionHarness.online(outbox: OutboxSummary(waiting: 1))
        harness.answerStore(.batchTaken(SessionHarness.batch(0...0, outbox: OutboxSummary(sent: 1))))
        #expect(harness.push?.request.account == SessionHarness.account)
        harness.answerPush(.failure(TransportError(.otherAccount, "the token is of 'bo'")))
        #expect(harness.storeActions.isEmpty && harness.session.outbox.summary.sent == 1)
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

    @Test func `a pause requested in response to a hello is kept even if the user asks for a sync`() {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let asked = harness.now
        harness.answerHello(.failure(TransportError(.throttled, "too many requests", retryAfter: .seconds(90))))
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
        harness.answerHello(.failure(TransportError(.throttled, "try again", retryAfter: .zero)))
        harness.send(.host(.syncRequested))
        #expect(harness.openHello != nil)
    }

    @Test func `a pause that the server requested in an earlier run is kept`() {
        var stored = SessionHarness.stored()
        stored.pause = .seconds(90)
        var harness = SessionHarness()
        harness.send(.host(.started(stored, .up)))
        harness.send(.host(.syncRequested))
        #expect(harness.openHello == nil)
        guard case .paused(let failure, .seconds(90)) = harness.session.status(now: harness.now).connection else {
            Issue.record("\(harness.session.status(now: harness.now))")
            return
        }
        #expect(failure.code == .throttled)
        harness.wake()
        #expect(harness.openHello != nil && harness.now == .seconds(90))
    }

    @Test(arguments: [TransportError.Code.unauthorized, .forbidden, .incompatible])
    func `a refusal that may be a gateway's is repeated soon, and one of the server after minutes`(
        code: TransportError.Code
    ) {
        for isDefinite in [false, true] {
            var harness = SessionHarness()
            harness.send(.host(.started(SessionHarness.stored(), .up)))
            for _ in 0..<20 {
                let before = harness.now
                harness.answerHello(.failure(TransportError(code, "refused", isDefinite: isDefinite)))
                harness.wake()
                let wait = harness.now - before
                #expect(harness.openHello != nil && wait <= harness.policy.refusalRetry)
                #expect(isDefinite ? wait == harness.policy.refusalRetry : wait <= harness.policy.backoff.cap)
                if before == .zero, !isDefinite { #expect(wait <= .seconds(5)) }
            }
        }
    }

    @Test(arguments: [TransportError.Code.unauthorized, .forbidden])
    func `a pause requested with a refusal is kept even after the credentials change`(code: TransportError.Code) {
        var harness = SessionHarness()
        harness.send(.host(.started(SessionHarness.stored(), .up)))
        let pause = harness.policy.refusalRetry + .seconds(60)
        harness.answerHello(.failure(TransportError(code, "not now", retryAfter: pause)))
        #expect(Array(harness.timers.values) == [pause])
        harness.send(.host(.credentialsChanged))
        #expect(harness.openHello == nil)
        harness.wake()
        #expect(harness.now == pause && harness.openHello != nil)
    }
}
