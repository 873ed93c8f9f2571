import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncTestKit
import SyncWire
import TestRings
import Testing

@Suite(.ring(.unit)) struct MockServerTests {
    private let waits = Guarded<[Duration]>([])

    private func makeMock(_ authority: any AuthorityService = TestServer.authority()) -> MockServer {
        let waits = waits
        return MockServer(
            authority: authority, catalog: TestServer.catalog, principal: TestServer.principal,
            now: TestServer.now, wait: { duration in waits.withLock { waits in waits.append(duration) } })
    }

    private static let fetch = FetchRequest(space: .default, collection: "notes", key: .id(TestServer.record))

    @Test func `a lost request has no effect, and a request whose response is lost takes effect`() async throws {
        let mock = makeMock()
        mock.script(.push, .dropRequest, .dropResponse)
        var error = await #expect(throws: TransportError.self) { try await mock.push(TestServer.push()) }
        #expect(error?.code == .timedOut)
        #expect(try await mock.fetch(Self.fetch) == nil)
        error = await #expect(throws: TransportError.self) { try await mock.push(TestServer.push()) }
        #expect(error?.code == .timedOut)
        #expect(try await mock.fetch(Self.fetch) != nil)
        guard case .answered(let results, _, _) = try await mock.push(TestServer.push()) else {
            Issue.record("refused")
            return
        }
        #expect(results.map(\.outcome.word) == ["applied"], "the repeat gets the original outcome")
        #expect(mock.remainingSteps == 0)
    }

    @Test func `a duplicated push arrives twice and takes effect once`() async throws {
        let authority = CountingAuthority(authority: TestServer.authority())
        let mock = makeMock(authority)
        mock.script(.push, .duplicate)
        guard case .answered(let results, _, _) = try await mock.push(TestServer.push()) else {
            Issue.record("refused")
            return
        }
        #expect(results.map(\.outcome.word) == ["applied"])
        guard
            case .page(let page) = try await mock.pull(PullRequest(space: .default, cursor: nil, limit: 10)),
            case .snapshot(let rows, _, isLast: true) = page.content
        else {
            Issue.record("no snapshot in one page")
            return
        }
        #expect(authority.pushes.withLock { $0 } == 2)
        #expect(page.head == Version(1))
        #expect(rows.flatMap(\.records).map(\.id) == [TestServer.record])
    }

    @Test func `a delayed step waits on the test's clock before the next step runs`() async throws {
        let mock = makeMock()
        mock.script(.hello, .delay(.seconds(3_600), then: .fail(TransportError(.serverFailed, "tired"))))
        let error = await #expect(throws: TransportError.self) { try await mock.hello() }
        #expect(error == TransportError(.serverFailed, "tired"))
        #expect(waits.withLock { waits in waits } == [.seconds(3_600)])
    }

    @Test func `damage in transit is detected on both sides`() async throws {
        let mock = makeMock()
        let bytes = try PushCodec.encode(TestServer.push())
        let text = String(decoding: bytes, as: UTF8.self)
        let range = try #require(text.firstRange(of: "\"title\":\"a"))
        let offset = text.utf8.distance(from: text.startIndex, to: range.upperBound) - 1
        mock.script(.push, .corruptRequest(offset: offset, mask: 0x02), .corruptResponse(offset: 0, mask: 0x01), .pass)
        var error = await #expect(throws: TransportError.self) { try await mock.push(TestServer.push()) }
        #expect(error?.code == .serverFailed)
        #expect(error?.isDefinite == false, "nothing is decided about a push that arrived damaged")
        #expect(error?.message.contains("does not match its hash") == true, "\(error?.description ?? "")")
        #expect(try await mock.fetch(Self.fetch) == nil)
        error = await #expect(throws: TransportError.self) { try await mock.push(TestServer.push()) }
        #expect(error?.code == .notUnderstood)
        _ = try await mock.push(TestServer.push())
    }

    @Test(arguments: [MockStep.captivePortal, .cutResponse(bytes: 10), .cutResponse(bytes: 0)])
    func `an invalid response is reported as not understood`(step: MockStep) async throws {
        let mock = makeMock()
        mock.script(.hello, step)
        mock.script(.pull, step)
        var error = await #expect(throws: TransportError.self) { try await mock.hello() }
        #expect(error?.code == .notUnderstood)
        error = await #expect(throws: TransportError.self) {
            try await mock.pull(PullRequest(space: .default, cursor: nil, limit: 10))
        }
        #expect(error?.code == .notUnderstood)
    }

    @Test func `scripted responses are returned unchanged without calling the authority`() async throws {
        let mock = makeMock()
        let gap = PushResponse.refused(.gap(expected: TransactionNumber(9)))
        mock.script(.push, .response(.push(gap)))
        mock.script(.pull, .response(.pull(.mustReset(.horizon))))
        mock.script(.fetch, .response(.fetch(nil)))
        #expect(try await mock.push(TestServer.push()) == gap)
        #expect(try await mock.pull(PullRequest(space: .default, cursor: nil, limit: 1)) == .mustReset(.horizon))
        #expect(try await mock.fetch(Self.fetch) == nil)
        let log = mock.log
        #expect(log.count == 3)
        #expect(mock.remainingSteps == 0)
    }

    @Test func `hints can be scripted, and can be scripted to fail`() async throws {
        let mock = makeMock()
        let hint = Hint(space: .default, head: Version(4))
        mock.scriptHints(.send([hint, hint]), .fail(TransportError(.serverFailed, "no")))
        var hints: [Hint] = []
        for try await hint in mock.hints(for: [.default]) { hints.append(hint) }
        #expect(hints == [hint, hint])
        await #expect(throws: TransportError.self) {
            for try await _ in mock.hints(for: [.default]) {}
        }
        #expect(mock.log == [.hints([.default]), .hints([.default])])
    }
}

/// The real authority, with a count of its pushes.
private struct CountingAuthority: AuthorityService {
    let authority: Authority
    let pushes = Guarded(0)

    var commits: Broadcast<SpaceHeads> { authority.commits }

    func hello(for principal: Principal, now: WallTime) throws(AuthorityError) -> ServerHello {
        try authority.hello(for: principal, now: now)
    }

    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse {
        pushes.withLock { $0 += 1 }
        return try authority.push(request, by: principal, now: now)
    }

    func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PullResponse {
        try authority.pull(request, by: principal, now: now)
    }

    func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> Record? {
        try authority.fetch(request, by: principal, now: now)
    }

    func readable(among spaces: [SpaceID], by principal: Principal) throws(AuthorityError) -> [SpaceID] {
        try authority.readable(among: spaces, by: principal)
    }
}
