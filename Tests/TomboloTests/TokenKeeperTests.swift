import Foundation
import SyncConcurrency
import SyncSimulation
import SyncTestKit
import TestRings
import Testing

@testable import SyncCore
@testable import Tombolo

/// Tests how a client gets and renews its token, on virtual time.
@Suite(.ring(.unit)) struct TokenKeeperTests {
    @Test func `each caller waits until its own timeout or cancellation, and a late token is used`() throws {
        let simulation = Simulation(seed: 1)
        let clock = simulation.clock(of: "phone")
        let keeper = TokenKeeper(
            provider: {
                try await clock.sleep(for: .seconds(100))
                return "late"
            }, timeout: .seconds(30), expiry: nil, runtime: simulation.makeRuntime(device: "phone"))
        let ends = Guarded<[String: Duration]>([:])
        func refresh(_ caller: String) -> Task<Void, Never> {
            simulation.start(caller) {
                await keeper.refresh()
                ends.withLock { $0[caller] = simulation.now }
            }
        }
        _ = refresh("first")
        try simulation.advance(by: .seconds(10))
        let cancelled = refresh("cancelled")
        _ = refresh("last")
        try simulation.advance(by: .seconds(5))
        cancelled.cancel()
        try simulation.advance(by: .seconds(60))
        #expect(
            ends.withLock { $0 } == ["cancelled": .seconds(15), "first": .seconds(30), "last": .seconds(40)])
        #expect(keeper.outcome == .failed("the token closure has not returned within 30.0 seconds"))
        try simulation.advance(by: .seconds(60))
        #expect(keeper.current == "late")
        #expect(keeper.outcome == .known)
        try simulation.finish()
    }

    @Test func `a closure that never returns is called again, and a late result does not replace a newer one`() throws {
        let simulation = Simulation(seed: 1)
        let clock = simulation.clock(of: "phone")
        let calls = Guarded(0)
        let keeper = TokenKeeper(
            provider: {
                let call = calls.withLock { calls in
                    calls += 1
                    return calls
                }
                // The first call ends long after the second.
                try await clock.sleep(for: .seconds(call == 1 ? 100 : 1))
                return "token \(call)"
            }, timeout: .seconds(30), expiry: nil, runtime: simulation.makeRuntime(device: "phone"))
        _ = simulation.start("first") { await keeper.refresh() }
        try simulation.advance(by: .seconds(40))
        #expect(keeper.current == nil)
        _ = simulation.start("second") { await keeper.refresh() }
        try simulation.advance(by: .seconds(2))
        #expect(keeper.current == "token 2" && keeper.outcome == .known)
        try simulation.advance(by: .seconds(100))
        #expect(keeper.current == "token 2" && calls.withLock { $0 } == 2)
        try simulation.finish()
    }

    @Test func `a refresh after a sign-in has a call of its own, and a closed client has none`() throws {
        let simulation = Simulation(seed: 1)
        let clock = simulation.clock(of: "phone")
        let (isSignedIn, calls) = (Guarded(false), Guarded(0))
        let keeper = TokenKeeper(
            provider: {
                let token = isSignedIn.withLock { $0 } ? "token" : nil
                calls.withLock { $0 += 1 }
                try await clock.sleep(for: .seconds(10))
                return token
            }, timeout: .seconds(30), expiry: nil, runtime: simulation.makeRuntime(device: "phone"))
        _ = simulation.start("renewal") { await keeper.refresh() }
        try simulation.advance(by: .seconds(1))
        // The call in progress has asked before the sign-in.
        isSignedIn.withLock { $0 = true }
        let isNew = Guarded(false)
        _ = simulation.start("sign-in") {
            let found = await keeper.refreshAfterThis()
            isNew.withLock { $0 = found }
        }
        try simulation.advance(by: .seconds(20))
        #expect(isNew.withLock { $0 } && keeper.current == "token" && calls.withLock { $0 } == 2)

        let hasEnded = Guarded(false)
        _ = simulation.start("late") {
            await keeper.refresh()
            hasEnded.withLock { $0 = true }
        }
        try simulation.advance(by: .seconds(1))
        keeper.end()
        try simulation.advance(by: .seconds(1))
        #expect(hasEnded.withLock { $0 } && calls.withLock { $0 } == 3)
        _ = simulation.start("after the end") { await keeper.refreshAfterThis() }
        try simulation.advance(by: .seconds(60))
        #expect(calls.withLock { $0 } == 3)
        try simulation.finish()
    }

    @Test func `tokens that expire at once are renewed at intervals, and others before they expire`() throws {
        let simulation = Simulation(seed: 1)
        let runtime = simulation.makeRuntime(device: "phone")
        let lives: [String: Int64] = ["short": 30, "expired": -10, "long": 600]
        let keeper = TokenKeeper(
            provider: { nil }, timeout: .seconds(30),
            expiry: { token in
                lives[token].map { seconds in
                    Date(timeIntervalSince1970: Double(runtime.now().milliseconds + seconds * 1_000) / 1_000)
                }
            }, runtime: runtime)
        #expect(keeper.planRenewal(of: "short") == .zero)
        #expect(keeper.planRenewal(of: "short") == .seconds(5))
        try simulation.advance(by: .seconds(5))
        #expect(keeper.planRenewal(of: "expired") == .seconds(5))
        #expect(keeper.planRenewal(of: "long") == .seconds(570))
        #expect(keeper.planRenewal(of: "unknown") == nil)
        try simulation.advance(by: .seconds(60))
        #expect(keeper.planRenewal(of: "short") == .zero)
        try simulation.finish()
    }

    @Test func `a closure that asks for a refresh does not wait for itself`() throws {
        let simulation = Simulation(seed: 1)
        let keeper = Guarded<TokenKeeper?>(nil)
        let made = TokenKeeper(
            provider: {
                let keeper = keeper.withLock { $0 }
                let isNew = await keeper?.refresh()
                return isNew == false ? "token" : nil
            }, timeout: .seconds(30), expiry: nil, runtime: simulation.makeRuntime(device: "phone"))
        keeper.withLock { $0 = made }
        _ = simulation.start("refresh") { await made.refresh() }
        try simulation.advance(by: .seconds(1))
        #expect(made.current == "token" && made.outcome == .known)
        keeper.withLock { $0 = nil }
        try simulation.finish()
    }

    @Test func `the largest durations are waits without an end`() async throws {
        let home = try Home()
        let server = try TestServer(models: [Person.self])
        var options = home.options
        options.tokenTimeout = .seconds(Int64.max)
        options.transport = server.transport(for: "ned")
        options.reachability = FakeReachability()
        let called = Guarded(false)
        let client = try await Client.open(
            "todo", models: [Person.self],
            token: {
                called.withLock { $0 = true }
                return "token"
            }, options: options)
        await client.refreshToken()
        #expect(called.withLock { $0 })
        try await client.create(Person.self) { $0.name = "Ned" }
        try await client.synced(within: .seconds(Int64.max))
        await client.close()
    }

    @Test func `the token keeper has the runtime of all other parts of the client`() async throws {
        let home = try Home()
        var options = home.options
        var recipes = ClientRecipes.live
        let make = recipes.machine.runtime
        let made = Guarded(0)
        recipes.machine.runtime = { settings in
            made.withLock { $0 += 1 }
            return make(settings)
        }
        options.recipes = recipes
        options.sync = .off
        let client = try await Client.open(
            "todo", models: [Person.self], server: "http://127.0.0.1:1", token: { nil }, options: options)
        await client.close()
        #expect(made.withLock { $0 } == 1)
    }

    @Test func `a refusal asks for a sign-in only if it is about the current token`() throws {
        let simulation = Simulation(seed: 1)
        let answer = Guarded<Result<String?, any Error>>(.success(nil))
        let keeper = TokenKeeper(
            provider: { try answer.withLock { $0 }.get() }, timeout: .seconds(30), expiry: nil,
            runtime: simulation.makeRuntime(device: "phone"))
        func refresh(_ next: Result<String?, any Error>) throws {
            answer.withLock { $0 = next }
            _ = simulation.start("refresh") { await keeper.refresh() }
            try simulation.advance(by: .seconds(1))
        }
        let refused = SyncStatus(
            connection: .refused(TransportError(.unauthorized, "expected a bearer token")), push: .idle, spaces: [],
            outbox: OutboxSummary())
        func phase(_ problem: String? = nil) -> ClientStatus.Phase {
            ClientStatus.phase(of: refused, token: keeper, problem: problem).0
        }
        try refresh(.success(nil))
        #expect(keeper.use() == nil && phase() == .needsToken)
        // The user has signed in. No request has used the new token yet.
        try refresh(.success("new"))
        #expect(phase() == .connecting)
        #expect(keeper.use() == "new" && phase() == .needsToken)
        // After an error of the closure, it is unknown whether the user is signed in.
        try refresh(.failure(CancellationError()))
        #expect(phase() == .offline)
        let configured = ClientStatus.phase(of: refused, token: nil, problem: "the file is missing")
        #expect(configured == (.needsToken, "the file is missing"))
        try simulation.finish()
    }

    @Test func `a push that waits gives its reason while the connection is live`() {
        let waiting = SyncStatus(
            connection: .online, push: .waiting("the server failed", retryIn: .seconds(3)), spaces: [],
            outbox: OutboxSummary(waiting: 1))
        #expect(ClientStatus.phase(of: waiting, token: nil, problem: nil) == (.live, "the server failed"))
    }

    @Test func `a pause that the server asked for, and a failure of the local database, are phases of their own`() {
        var status = SyncStatus(
            connection: .paused(TransportError(.throttled, "too many requests"), retryIn: .seconds(3)), push: .idle,
            spaces: [], outbox: OutboxSummary())
        #expect(ClientStatus.phase(of: status, token: nil, problem: nil) == (.paused, "too many requests"))
        let full = StoreError(.diskFull, "the disk is full")
        (status.connection, status.storeFailure) = (.storeFailed(full, retryIn: .seconds(3)), full)
        #expect(
            ClientStatus.phase(of: status, token: nil, problem: nil)
                == (.blocked, "the local database failed: the disk is full"))
    }
}
