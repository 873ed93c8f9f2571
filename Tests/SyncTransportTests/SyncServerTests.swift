import Glibc
import HTTPTypes
import NIOCore
import Schemas
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel
import SyncTestKit
import SyncTransportHTTP
import SyncWire
import TestRings
import Testing

@testable import SyncServerHTTP

/// The server's responses to raw requests, including requests that the sync client never sends.
@Suite(.ring(.test)) struct SyncServerTests {
    private static let authorized = "Authorization: Bearer \(TestServer.good)"
    private static let json = "Content-Type: application/json"

    @Test func `the health check and the API description need no token and reveal no data`() async throws {
        let (health, document) = try await TestServer.run(TestServer.authority()) { port in
            (
                try await RawRequest.send([RawRequest.http("GET /healthz")], to: port),
                try await RawRequest.send([RawRequest.http("GET /v1/openapi")], to: port)
            )
        }
        #expect(RawRequest.status(health) == "200")
        #expect(health.hasSuffix(#"{"status":"ok"}"#))
        #expect(document.hasSuffix(String(decoding: WireSchema.openAPI, as: UTF8.self)))
        for field in ["x-content-type-options: nosniff", "cache-control: no-store", "content-security-policy:"] {
            #expect(health.lowercased().contains(field))
        }
    }

    @Test(arguments: [("/", "200", #"{"status":"ok"}"#), ("/proc", "503", #""reason":"disk"}"#)])
    func `a server is ready only with room on its disk, and stays healthy without`(
        folder: String, status: String, body: String
    ) async throws {
        var configuration = SyncServerConfiguration()
        configuration.folder = folder
        let (ready, health) = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            (
                try await RawRequest.send([RawRequest.http("GET /readyz")], to: port),
                try await RawRequest.send([RawRequest.http("GET /healthz")], to: port)
            )
        }
        #expect(RawRequest.status(ready) == status)
        #expect(ready.hasSuffix(body))
        #expect(RawRequest.status(health) == "200")
    }

    /// A store over a database that takes no writes.
    private struct ReadOnlyStore: AuthorityStore {
        let base = InMemoryAuthorityStore(epoch: Epoch(rawValue: "test-epoch"))

        func read<Result>(_ body: (any AuthorityView) throws -> Result) throws -> Result { try base.read(body) }

        func write<Result>(_ body: (any AuthorityTransaction) throws -> Result) throws -> Result {
            throw AuthorityStoreError(.readOnly, "planted")
        }

        func takesWrites() throws -> Bool { false }
    }

    @Test func `a server whose database takes no writes is healthy, but not ready`() async throws {
        let authority = Authority(store: ReadOnlyStore(), catalog: TestServer.catalog)
        let (ready, health) = try await TestServer.run(authority) { port in
            (
                try await RawRequest.send([RawRequest.http("GET /readyz")], to: port),
                try await RawRequest.send([RawRequest.http("GET /healthz")], to: port)
            )
        }
        #expect(RawRequest.status(ready) == "503" && ready.hasSuffix(#""reason":"read_only"}"#), "\(ready)")
        #expect(RawRequest.status(health) == "200")
    }

    /// A store that reports damage at each write.
    private struct DamagedStore: AuthorityStore {
        let base = InMemoryAuthorityStore(epoch: Epoch(rawValue: "test-epoch"))

        func read<Result>(_ body: (any AuthorityView) throws -> Result) throws -> Result { try base.read(body) }

        func write<Result>(_ body: (any AuthorityTransaction) throws -> Result) throws -> Result {
            throw AuthorityStoreError(.corrupt, "planted")
        }
    }

    @Test func `a server whose pushes find damage is not healthy`() async throws {
        let authority = Authority(store: DamagedStore(), catalog: TestServer.catalog)
        let id = Identifier128(high: 0x0193_5A1B_2C3D_7001, low: 0x8000_0000_0000_0001)
        let transaction = Transaction(
            space: .default,
            mutations: [
                Mutation(
                    collection: "notes", record: RecordID(bits: id),
                    time: HybridTime(wall: TestServer.now(), counter: 0), intent: .create(["title": .text("x")]))
            ])
        let push = PushRequest(
            identity: ClientIdentity(client: ClientID(bits: id), incarnation: 0), epoch: Epoch(rawValue: "test-epoch"),
            account: TestServer.principal.account, cursors: [], acknowledged: .first,
            transactions: [
                NumberedTransaction(
                    number: .first, hash: try PayloadHash(of: transaction), transaction: transaction)
            ])
        let body = String(decoding: try ServerRequest.push(push).encode(), as: UTF8.self)
        let answers = try await TestServer.run(authority) { port in
            var answers: [String] = []
            for request in [
                RawRequest.http("GET /healthz"),
                RawRequest.http(
                    "POST /v1/push",
                    [Self.authorized, "Content-Type: application/json", "Content-Length: \(body.utf8.count)"], body),
                RawRequest.http("GET /healthz"),
            ] { answers.append(try await RawRequest.send([request], to: port)) }
            return answers
        }
        #expect(answers.map(RawRequest.status) == ["200", "503", "503"], "\(answers)")
        #expect(answers[2].hasSuffix(#"{"status":"unavailable","reason":"damaged"}"#))
    }

    @Test func `a valid token does not open wrong methods, paths, queries, or spaces`() async throws {
        let cases = [
            ("GET /v1/hello", "200"), ("POST /v1/hello", "405"), ("GET /v1/push", "405"), ("GET /v1/hello/", "404"),
            ("GET /v1/%68ello", "404"), ("GET /v1/hints", "400"), ("GET /v1/hints?space=Bad", "400"),
            ("GET /v1/hints?spaces=default", "400"), ("GET /v1/hints?space=secret", "403"),
        ]
        let answers = try await TestServer.run(TestServer.authority()) { port in
            var answers: [String] = []
            for (line, _) in cases {
                let request = RawRequest.http(line, [Self.authorized, "Content-Length: 0"])
                answers.append(RawRequest.status(try await RawRequest.send([request], to: port)))
            }
            return answers
        }
        for (item, status) in zip(cases, answers) { #expect(item.1 == status, "\(item.0)") }
    }

    @Test(arguments: [
        [], ["Authorization: Bearer"], ["Authorization: Bearer \(TestServer.bad)"],
        ["Authorization: Basic \(TestServer.good)"], ["Authorization: \(TestServer.good)"],
        ["Authorization: Bearer \(TestServer.good) x"],
        ["Authorization: Bearer \(TestServer.bad)", "Authorization: Bearer \(TestServer.good)"],
    ])
    func `a request without exactly one valid token is unauthorized`(fields: [String]) async throws {
        let response = try await TestServer.run(TestServer.authority()) { port in
            try await RawRequest.send([RawRequest.http("GET /v1/hello", fields)], to: port)
        }
        #expect(RawRequest.status(response) == "401")
        #expect(response.lowercased().contains("www-authenticate: bearer"))
        #expect(!response.contains(TestServer.good) && !response.contains(TestServer.bad))
    }

    @Test func `only uncompressed JSON bodies are accepted`() async throws {
        let types = [
            [], ["Content-Type: text/plain"], ["Content-Type: application/json", "Content-Encoding: gzip"],
            ["Content-Type: application/jsonx"],
        ]
        let answers = try await TestServer.run(TestServer.authority()) { port in
            var answers: [String] = []
            for type in types {
                let request = RawRequest.http("POST /v1/pull", [Self.authorized, "Content-Length: 2"] + type, "{}")
                answers.append(RawRequest.status(try await RawRequest.send([request], to: port)))
            }
            return answers
        }
        #expect(answers == ["415", "415", "415", "415"])
    }

    @Test func `a body whose declared length is too long is refused before it arrives`() async throws {
        let head = RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Content-Length: 4294967296"])
        let response = try await TestServer.run(TestServer.authority()) { port in
            try await RawRequest.send([head], to: port) { $0.contains("}}") }
        }
        #expect(RawRequest.status(response) == "413")
        #expect(response.contains("too_large"))
    }

    @Test func `an endless chunked body is refused once it is too long`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.maximumBodyBytes = 10_000
        let chunk = "1000\r\n" + String(repeating: " ", count: 4_096) + "\r\n"
        let head = RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Transfer-Encoding: chunked"])
        let response = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            try await RawRequest.send([head] + Array(repeating: chunk, count: 40), to: port) { $0.contains("}}") }
        }
        #expect(RawRequest.status(response) == "413")
    }

    @Test func `a body in tiny chunks is refused`() async throws {
        let head = RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Transfer-Encoding: chunked"])
        let chunks = String(repeating: "1\r\n \r\n", count: 2_000)
        let response = try await TestServer.run(TestServer.authority()) { port in
            try await RawRequest.send([head, chunks], to: port) { $0.contains("}}") }
        }
        #expect(RawRequest.status(response) == "400")
        #expect(response.contains("comes in 1025 chunks of 1 bytes"), "\(response)")
    }

    @Test func `a body that arrives too slowly is refused`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.bodyTimeout = .milliseconds(200)
        // The client sends one byte at a time until the server responds, so the speed of the machine does not matter.
        let head = RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Content-Length: 983040"])
        let response = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            try await RawRequest.send(head, thenKeepSending: " ", every: .milliseconds(20), to: port) {
                $0.contains("}}")
            }
        }
        #expect(RawRequest.status(response) == "408")
    }

    @Test(arguments: ["", "{"])
    func `a body that stops arriving is refused`(start: String) async throws {
        var configuration = SyncServerConfiguration()
        configuration.bodyTimeout = .milliseconds(200)
        configuration.idleTimeout = .seconds(3_600)
        let head = RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Content-Length: 1000"], start)
        let response = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            try await RawRequest.send([head], to: port) { $0.contains("}}") }
        }
        #expect(RawRequest.status(response) == "408")
        // On a slow machine, the timer may end before the byte has arrived.
        #expect((0...start.utf8.count).contains { response.contains(" \($0) bytes") }, "\(response)")
    }

    @Test func `a long body in many pieces is read to its end`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.bodyTimeout = .seconds(3_600)
        let head = RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Content-Length: 983040"])
        let pieces = Array(repeating: String(repeating: " ", count: 16_384), count: 60)
        let response = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            try await RawRequest.send([head] + pieces, pause: .milliseconds(2), to: port) { $0.contains("}}") }
        }
        // The server refuses the body only after it has read all of it, because it is not JSON.
        #expect(RawRequest.status(response) == "400")
    }

    @Test func `a connection that stops in the middle of a request is closed`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.idleTimeout = .milliseconds(200)
        let answers = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            [
                try await RawRequest.send(["GET /v1/hello HTTP/1.1\r\nHost:"], to: port),
                try await RawRequest.send(
                    [RawRequest.http("POST /v1/push", [Self.authorized, Self.json, "Content-Length: 9"], "{")], to: port
                ),
            ]
        }
        // `send` returns only if the server closed the connection.
        for response in answers { #expect(RawRequest.status(response) != "200", "\(response)") }
    }

    @Test func `a TLS connection without a complete client hello is closed`() async throws {
        let files = try TestCertificate.make()
        defer { files.remove() }
        var configuration = SyncServerConfiguration()
        configuration.tls = .init(certificateChain: files.certificate, privateKey: files.key)
        configuration.handshakeTimeout = .milliseconds(200)
        let answers = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            // Data that is not TLS, the beginning of a client hello, and no data.
            [
                try await RawRequest.send(["GET / HTTP/1.1\r\n\r\n"], to: port),
                try await RawRequest.send(["\u{16}\u{3}\u{1}"], to: port), try await RawRequest.send([], to: port),
            ]
        }
        #expect(answers.allSatisfy { !$0.contains("HTTP") })
    }

    @Test(.timeLimit(.minutes(10))) func `a TLS connection whose peer ignores the close is cut`() async throws {
        let files = try TestCertificate.make()
        defer { files.remove() }
        var configuration = SyncServerConfiguration()
        configuration.tls = .init(certificateChain: files.certificate, privateKey: files.key)
        // `run` cancels the server when this closure returns. `run` returns only if the server does not wait for the
        // client, which keeps sending requests.
        let connection = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            try await StubbornConnection(to: port)
        }
        try await connection.waitUntilClosed()
    }

    @Test(arguments: [
        SecretError(secret: Self.secret) as any Error, WireError(.unencodable, Self.secret), CancellationError(),
    ])
    func `an internal error is not disclosed`(error: any Error) throws {
        let refusal = Refusal(error)
        #expect(refusal.status == .internalServerError)
        #expect(refusal.body == ErrorBody(.failed, "the server failed"))
        #expect(refusal.headers.isEmpty)
    }

    private static let secret = "canary7f3a"

    private struct SecretError: Error {
        let secret: String
    }

    @Test func `a failure that the authority reports is returned to the client`() async throws {
        let failing = FailingAuthority(
            failure: AuthorityError(
                .unavailable, "the disk is full", detail: "/var/lib/secret", retryAfter: .milliseconds(1_500)))
        let response = try await TestServer.run(failing) { port in
            try await RawRequest.send([RawRequest.http("GET /v1/hello", [Self.authorized])], to: port)
        }
        #expect(RawRequest.status(response) == "503")
        #expect(response.lowercased().contains("retry-after: 2\r\n"), "\(response)")
        #expect(response.contains("the disk is full"))
        #expect(!response.contains("/var/lib/secret"))
    }

    /// Rejects every transaction with one message.
    private struct Rejecting: TransactionReview {
        let message: String

        func rejection(of planned: PlannedTransaction, by principal: Principal) async throws -> Rejection? {
            Rejection(code: RejectionCode(rawValue: "spam"), message: message, mutation: -1)
        }

        func uptime() -> Duration { .zero }
    }

    @Test func `a rejection that is too long for its store and its client is cut, and is repeated the same`()
        async throws
    {
        let message = String(repeating: "x", count: 16 * 1_024 - 1)
        let review = Rejecting(message: message + "é")
        let push = try TestServer.push()
        let responses = try await TestServer.run(TestServer.authority(), review: review) { port in
            let configuration = HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)")
            return try await TestServer.withTransport(configuration) { transport in
                [try await transport.push(push), try await transport.push(push)]
            }
        }
        for response in responses {
            guard case .answered(let results, _, _) = response else {
                Issue.record("\(response)")
                continue
            }
            let rejection = Rejection(code: RejectionCode(rawValue: "spam"), message: message, mutation: nil)
            #expect(results.map(\.outcome) == [.rejected(rejection)])
        }
    }

    @Test func `an event stream ends when its token is revoked`() async throws {
        var configuration = SyncServerConfiguration()
        configuration.heartbeat = .milliseconds(30)
        let isGood = Guarded(true)
        let text = try await TestServer.run(
            TestServer.authority(), configuration: configuration, authenticator: Revocable(isGood: isGood)
        ) { port in
            let request = RawRequest.http("GET /v1/hints?space=default", [Self.authorized])
            return try await RawRequest.send([request], to: port) { text in
                if text.contains(": alive") { isGood.withLock { isGood in isGood = false } }
                return false
            }
        }
        #expect(RawRequest.status(text) == "200")
        #expect(text.contains(": welcome") && text.hasSuffix("0\r\n\r\n"), "\(text)")
    }

    @Test func `a request fails if its token is revoked while its body arrives`() async throws {
        let authority = TestServer.authority()
        let body = String(decoding: try ServerRequest.push(TestServer.push()).encode(), as: UTF8.self)
        var configuration = SyncServerConfiguration()
        // Every request counts as slow. Otherwise, the server checks the token only once.
        configuration.tokenAge = .nanoseconds(-1)
        let text = try await TestServer.run(
            authority, configuration: configuration, authenticator: AcceptedOnce()
        ) { port in
            let head = RawRequest.http(
                "POST /v1/push",
                [Self.authorized, "Content-Type: application/json", "Content-Length: \(body.utf8.count + 1)"], " ")
            return try await RawRequest.send([head, body], to: port) { $0.contains("revoked") }
        }
        #expect(RawRequest.status(text) == "401", "\(text)")
        let heads = try authority.heads(of: [.default], for: TestServer.principal, now: TestServer.now())
        #expect(heads.heads[.default] == .zero)
    }

    @Test(arguments: [false, true])
    func `an event stream ends when the client's access changes`(isGrant: Bool) async throws {
        var configuration = SyncServerConfiguration()
        configuration.heartbeat = .milliseconds(30)
        let mayReadOther = Guarded(!isGrant)
        let check = AccessCheck(name: "changing") { _, space, _ in
            space == .default || mayReadOther.withLock { mayRead in mayRead }
        }
        let everywhere = AccessRules.Rule(principals: .everyone, spaces: .all, access: .readAndWrite)
        let authority = TestServer.authority(AuthorityPolicy(access: AccessRules([everywhere], check: check)))
        let text = try await TestServer.run(authority, configuration: configuration) { port in
            let request = RawRequest.http("GET /v1/hints?space=other&space=default", [Self.authorized])
            return try await RawRequest.send([request], to: port) { text in
                if text.contains(": alive") { mayReadOther.withLock { mayRead in mayRead = isGrant } }
                return false
            }
        }
        #expect(RawRequest.status(text) == "200")
        #expect(text.contains(": welcome") && text.hasSuffix("0\r\n\r\n"), "\(text)")
    }

    @Test(arguments: [false, true])
    func `an event stream ends when another process changes the members`(isGrant: Bool) async throws {
        var configuration = SyncServerConfiguration()
        configuration.heartbeat = .milliseconds(30)
        let store = InMemoryAuthorityStore(epoch: Epoch(rawValue: "test-epoch"))
        func server() -> Authority {
            Authority(store: store, catalog: TestServer.catalog, policy: AuthorityPolicy(access: .members))
        }
        if !isGrant { _ = try server().admit(TestServer.principal, to: "team", as: .reader) }
        let command = server()
        let text = try await TestServer.run(server(), configuration: configuration) { port in
            let request = RawRequest.http("GET /v1/hints?space=team&space=default", [Self.authorized])
            return try await RawRequest.send([request], to: port) { text in
                guard text.contains(": alive") else { return false }
                _ =
                    isGrant
                    ? try? command.admit(TestServer.principal, to: "team", as: .reader)
                    : try? command.dismiss(TestServer.principal, from: "team")
                return false
            }
        }
        #expect(RawRequest.status(text) == "200")
        #expect(text.contains(": welcome") && text.hasSuffix("0\r\n\r\n"), "\(text)")
    }

    @Test func `a stream reveals no activity in spaces that the client may not read`() async throws {
        let hidden: SpaceID = "hidden"
        let policy = AuthorityPolicy(
            access: AccessRules([
                AccessRules.Rule(principals: .everyone, spaces: .only([.default]), access: .readAndWrite)
            ]))
        let authority = TestServer.authority(policy)
        var configuration = SyncServerConfiguration()
        configuration.heartbeat = .seconds(600)
        let text = try await TestServer.run(authority, configuration: configuration) { port in
            let request = RawRequest.http("GET /v1/hints?space=hidden&space=default", [Self.authorized])
            return try await RawRequest.send([request], to: port) { text in
                // The stream begins with a hint of the current head. The second hint is for the commit published here.
                authority.commits.publish(SpaceHeads(heads: [.default: Version(3), hidden: Version(8)]))
                return text.split(separator: "event: hint", omittingEmptySubsequences: false).count > 2
            }
        }
        #expect(RawRequest.status(text) == "200")
        #expect(!text.contains("hidden"), "\(text)")
        let elsewhere = SpaceHeads(heads: [hidden: Version(7)])
        #expect(StreamHints(of: elsewhere, in: [.default]) == nil)
        #expect(StreamHints(of: elsewhere, in: [.default, hidden])?.heads == elsewhere.heads)
        // A database that reports the commits of its own server repeats heads.
        var sent = StreamHints(heads: [.default: Version(4)])
        #expect(sent.note(StreamHints(heads: [.default: Version(4)])) == nil)
        #expect(
            sent.note(StreamHints(heads: [.default: Version(4), hidden: Version(1)]))?.heads == [hidden: Version(1)])
        #expect(sent.note(StreamHints(heads: [hidden: Version(1)])) == nil)
        #expect(sent.note(StreamHints(heads: [.default: Version(2)]))?.heads == [.default: Version(2)])
        #expect(sent.note(StreamHints(heads: [:]))?.heads == [:])
    }

    @Test func `a missing certificate stops the server at startup and is named in the error`() async throws {
        let configuration = SyncServerConfiguration(
            port: 0, tls: .init(certificateChain: "/nowhere/a.pem", privateKey: "/nowhere/b.pem"))
        let server = SyncServer(
            configuration: configuration, authority: TestServer.authority(), catalog: TestServer.catalog,
            authenticator: OneToken(token: "t", principal: TestServer.principal), now: TestServer.now,
            logger: TestServer.quiet)
        let error = await #expect(throws: SyncServerConfigurationError.self) { try await server.run() }
        #expect(error?.description.contains("/nowhere/a.pem") == true)
        #expect(error?.mayPass == false)
    }

    @Test(arguments: [
        ("key", 0o644, "the private key is not safe: everybody may read KEY, so run chmod o-r on it"),
        ("key", 0o660, "the private key is not safe: others may write in KEY: run chmod go-w on it"),
        ("certificate", 0o666, "the certificate is not safe: others may write in CERTIFICATE: run chmod go-w on it"),
    ])
    func `a key that everybody can read, or a file that others can write, stops the server at startup`(
        which: String, mode: Int, text: String
    ) async throws {
        let files = try TestCertificate.make()
        defer { files.remove() }
        #expect(chmod(which == "key" ? files.key : files.certificate, mode_t(mode)) == 0)
        let server = SyncServer(
            configuration: SyncServerConfiguration(
                port: 0, tls: .init(certificateChain: files.certificate, privateKey: files.key)),
            authority: TestServer.authority(), catalog: TestServer.catalog,
            authenticator: OneToken(token: "t", principal: TestServer.principal), now: TestServer.now,
            logger: TestServer.quiet)
        let error = await #expect(throws: SyncServerConfigurationError.self) { try await server.run() }
        let expected = text.replacing("KEY", with: files.key).replacing("CERTIFICATE", with: files.certificate)
        #expect(error?.description == expected && error?.mayPass == false)
    }

    @Test(arguments: [(EADDRINUSE, true), (EADDRNOTAVAIL, true), (EACCES, false)])
    func `only a port that this user may not take stays out of reach`(code: Int32, mayPass: Bool) throws {
        let error = try SyncServerConfigurationError(
            listening: IOError(errnoCode: code, reason: "bind"), on: "10.1.2.3", port: 443)
        #expect(error.mayPass == mayPass)
    }

    @Test(.timeLimit(.minutes(10))) func `a stream is released after its client disconnects`() async throws {
        let authority = TestServer.authority()
        var configuration = SyncServerConfiguration()
        // The heartbeat is longer than the test, so the server must notice the disconnect without it.
        configuration.heartbeat = .seconds(600)
        let text = try await TestServer.run(authority, configuration: configuration) { port in
            var text = ""
            for _ in 0..<3 {
                text += try await RawRequest.send(
                    [RawRequest.http("GET /v1/hints?space=default", [Self.authorized])], to: port
                ) { $0.contains(": welcome") }
            }
            while authority.commits.subscriberCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
            return text
        }
        #expect(text.split(separator: ": welcome", omittingEmptySubsequences: false).count == 4, "\(text)")
        #expect(authority.commits.subscriberCount == 0)
    }
}

struct Revocable: Authenticator {
    let isGood: Guarded<Bool>

    func principal(bearing token: String) -> Principal? {
        isGood.withLock { isGood in isGood } ? TestServer.principal : nil
    }
}

/// An authenticator that accepts every token the first time.
struct AcceptedOnce: Authenticator {
    private let wasCalled = Guarded(false)

    func principal(bearing token: String) -> Principal? {
        wasCalled.withLock { wasCalled in
            defer { wasCalled = true }
            return wasCalled ? nil : TestServer.principal
        }
    }
}

/// An authority that fails every call.
struct FailingAuthority: UselessAuthority {
    let failure: AuthorityError
    let commits = Broadcast<SpaceHeads>()
}

/// An authority whose calls fail, except those that the type implements itself.
protocol UselessAuthority: AuthorityService {
    var failure: AuthorityError { get }
}

extension UselessAuthority {
    func hello(for principal: Principal, now: WallTime) throws(AuthorityError) -> ServerHello { throw failure }
    func push(
        _ request: PushRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PushResponse { throw failure }
    func pull(
        _ request: PullRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> PullResponse { throw failure }
    func fetch(
        _ request: FetchRequest, by principal: Principal, now: WallTime
    ) throws(AuthorityError) -> Record? { throw failure }
    func readable(among spaces: [SpaceID], by principal: Principal) throws(AuthorityError) -> [SpaceID] { [] }
}
