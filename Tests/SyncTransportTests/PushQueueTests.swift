import SyncAuthority
import SyncConcurrency
import SyncModel
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.unit)) struct PushQueueTests {
    @Test func `pushes that arrive while others are made durable are performed together`() {
        let authority = RecordingAuthority()
        let queue = PushQueue(authority: authority, now: TestServer.now)
        let results = Guarded<[Int64: Bool]>([:])
        @Sendable func add(_ number: Int64) {
            queue.add(Self.push(number)) { result in
                results.withLock { $0[number] = (try? result.get()) != nil }
            }
        }
        // Pushes arrive during the first and during the second call.
        authority.duringCall { call in
            if call == 1 { for number in 2...4 { add(Int64(number)) } }
            if call == 2 { add(5) }
        }
        add(1)
        #expect(authority.calls == [[1], [2, 3, 4], [4, 5]])
        #expect(results.withLock { $0 } == [1: true, 2: true, 3: true, 4: true, 5: true])
        authority.duringCall { _ in }
        add(6)
        #expect(authority.calls.last == [6], "the queue works again after it was empty")
    }

    @Test func `the authority gets a bounded number of waiting pushes at once`() {
        let authority = RecordingAuthority()
        let queue = PushQueue(authority: authority, now: TestServer.now)
        let many = Int64(SyncServerLimits.pushesTogether) + 10
        authority.duringCall { call in
            if call == 1 { for number in 2...many { queue.add(Self.push(number)) { _ in } } }
        }
        queue.add(Self.push(1)) { _ in }
        #expect(authority.calls.map(\.count).max() == SyncServerLimits.pushesTogether)
        #expect(authority.calls.last == [many])
    }

    @Test(arguments: [0, 1, 5])
    func `a push has one result, however many the authority returns`(count: Int) {
        let queue = PushQueue(authority: MiscountingAuthority(count: count), now: TestServer.now)
        let results = Guarded<[Bool]>([])
        for number in 1...2 {
            queue.add(Self.push(Int64(number))) { result in
                results.withLock { $0.append((try? result.get()) != nil) }
            }
        }
        #expect(results.withLock { $0 } == [count > 0, count > 0])
    }

    private static func push(_ number: Int64) -> PendingPush {
        PendingPush(
            request: PushRequest(
                identity: TestServer.client, epoch: nil, acknowledged: TransactionNumber(number), transactions: []),
            principal: TestServer.principal)
    }
}

/// An authority that returns a fixed number of results, whatever it is asked.
private struct MiscountingAuthority: UselessAuthority {
    let count: Int
    let failure = AuthorityError(.unavailable, "only pushes are expected")
    let commits = Broadcast<SpaceHeads>()

    func pushTogether(_ pushes: [PendingPush], now: WallTime) -> [Result<PushResponse, AuthorityError>] {
        Array(repeating: .success(.refused(.epochChanged(Epoch(rawValue: "other")))), count: count)
    }
}

/// An authority that records the pushes that it gets at once, and performs up to two of them.
private final class RecordingAuthority: UselessAuthority {
    private let state = Guarded<[[Int64]]>([])
    private let hook = Guarded<@Sendable (Int) -> Void>({ _ in })
    let commits = Broadcast<SpaceHeads>()

    /// The acknowledged numbers of the pushes of each call.
    var calls: [[Int64]] { state.withLock { $0 } }

    func duringCall(_ body: @escaping @Sendable (Int) -> Void) { hook.withLock { $0 = body } }

    func pushTogether(_ pushes: [PendingPush], now: WallTime) -> [Result<PushResponse, AuthorityError>] {
        let call = state.withLock { calls in
            calls.append(pushes.map(\.request.acknowledged.rawValue))
            return calls.count
        }
        hook.withLock { $0 }(call)
        return pushes.prefix(2).map { _ in .success(.refused(.epochChanged(Epoch(rawValue: "other")))) }
    }

    var failure: AuthorityError { AuthorityError(.unavailable, "only pushes are expected") }
}
