import SyncAuthority
import SyncCore
import SyncModel
import SyncServerHTTP
import SyncTestKit
import SyncTransportHTTP
import TestRings
import Testing

@Suite(.ring(.unit)) struct TransportConformanceTests {
    /// The rules that need neither raw bytes nor a transport without a valid token.
    static let rules = TransportConformance(TestServer.subject(Unreachable())).rules
    /// All rules.
    static let everyRule = TransportConformance(complete(TestServer.subject(Unreachable()))).rules

    static func complete(_ subject: TransportConformance.Subject) -> TransportConformance.Subject {
        var subject = subject
        subject.exchange = { _, _ in nil }
        subject.stranger = Unreachable()
        return subject
    }

    @Test(.timeLimit(.minutes(10)), arguments: rules)
    func `the in-process transport keeps the rules of transports`(rule: String) async throws {
        let transport = InProcessTransport(
            authority: TestServer.authority(), catalog: TestServer.catalog, principal: TestServer.principal,
            now: TestServer.now)
        try await TransportConformance(TestServer.subject(transport)).run(rule)
    }

    @Test(.timeLimit(.minutes(10)), arguments: rules)
    func `the mock server without a script keeps the rules of transports`(rule: String) async throws {
        let mock = MockServer(
            authority: TestServer.authority(), catalog: TestServer.catalog, principal: TestServer.principal,
            now: TestServer.now, wait: { _ in })
        try await TransportConformance(TestServer.subject(mock)).run(rule)
    }

    @Test(
        .timeLimit(.minutes(10)),
        arguments: [
            (0, "a stream begins with the heads of its spaces"), (1, "a commit is announced to every listener"),
        ])
    func `the suite detects hint streams that end early`(kept: Int, rule: String) async {
        let transport = InProcessTransport(
            authority: TestServer.authority(), catalog: TestServer.catalog, principal: TestServer.principal,
            now: TestServer.now)
        let suite = TransportConformance(TestServer.subject(ForgetfulHints(base: transport, kept: kept)))
        await #expect(throws: ConformanceViolation.self) { try await suite.run(rule) }
    }

    @Test(.ring(.test), .timeLimit(.minutes(10))) func `the transport over HTTP 1 keeps the rules of transports`()
        async throws
    {
        let violations = try await TestServer.run(TestServer.authority()) { port in
            try await Self.check(HTTPTransportConfiguration(baseURL: "http://127.0.0.1:\(port)"))
        }
        #expect(violations.isEmpty, "\(violations)")
        #expect(Self.everyRule.count > Self.rules.count)
    }

    @Test(.ring(.test), .timeLimit(.minutes(10))) func `the transport over TLS keeps the rules of transports`()
        async throws
    {
        let files = try TestCertificate.make()
        defer { files.remove() }
        let configuration = SyncServerConfiguration(
            tls: .init(certificateChain: files.certificate, privateKey: files.key))
        let violations = try await TestServer.run(TestServer.authority(), configuration: configuration) { port in
            try await Self.check(
                HTTPTransportConfiguration(
                    baseURL: "https://localhost:\(port)", trustedCertificates: files.certificate))
        }
        #expect(violations.isEmpty, "\(violations)")
    }

    @Test func `the suite detects a server that applies a repeated push twice`() async throws {
        let forgetful = ForgetfulTransport(
            InProcessTransport(
                authority: TestServer.authority(), catalog: TestServer.catalog, principal: TestServer.principal,
                now: TestServer.now))
        let violations = await TransportConformance(TestServer.subject(forgetful)).run()
        #expect(violations.contains { $0.rule.hasPrefix("a push takes effect") }, "\(violations)")
        #expect(violations.contains { $0.rule.hasPrefix("a number with other contents") }, "\(violations)")
    }

    /// Runs all rules over HTTP, including those for clients without a valid token and for invalid bodies.
    private static func check(_ configuration: HTTPTransportConfiguration) async throws -> [ConformanceViolation] {
        // On a busy machine, the server in this process may take longer to respond than a device would wait.
        var configuration = configuration
        configuration.connectTimeout = .seconds(300)
        configuration.readTimeout = .seconds(300)
        configuration.callTimeout = .seconds(300)
        configuration.hintsTimeout = .seconds(300)
        return try await TestServer.withTransport(configuration) { [configuration] transport in
            try await TestServer.withTransport(configuration, token: TestServer.bad) { stranger in
                var subject = TestServer.subject(transport)
                subject.stranger = stranger
                subject.maximumBodyBytes = SyncServerConfiguration().maximumBodyBytes
                subject.exchange = { call, body in
                    do throws(TransportError) {
                        _ = try await transport.exchange(call, body)
                        return nil
                    } catch {
                        return error
                    }
                }
                return await TransportConformance(subject).run()
            }
        }
    }
}

/// A transport to a server that does not exist.
struct Unreachable: RemoteTransport {
    private let failure = TransportError(.unreachable, "there is no server")

    func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse { throw failure }
    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        AsyncThrowingStream { throw failure }
    }
}

/// A transport that sends each push as a new client, so that the server does not recognize repeats.
struct ForgetfulTransport: RemoteTransport {
    private let base: any RemoteTransport
    private let random = TestServer.random(seed: 99)

    init(_ base: any RemoteTransport) {
        self.base = base
    }

    func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        guard case .push(let push) = request else { return try await base.send(request) }
        let client = ClientID(bits: Identifier128(high: random() & ~0xF000 | 0x7000, low: random()))
        return try await base.send(
            .push(
                PushRequest(
                    identity: ClientIdentity(client: client, incarnation: 0), epoch: push.epoch,
                    acknowledged: push.acknowledged, transactions: push.transactions)))
    }

    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> { base.hints(for: spaces) }
}

/// A transport whose hint streams end after `kept` hints.
struct ForgetfulHints: RemoteTransport {
    let base: any RemoteTransport
    let kept: Int

    func send(_ request: ServerRequest) async throws(TransportError) -> ServerResponse {
        try await base.send(request)
    }

    func hints(for spaces: [SpaceID]) -> AsyncThrowingStream<Hint, any Error> {
        let hints = base.hints(for: spaces).prefix(kept)
        return AsyncThrowingStream { continuation in
            let task = Task {
                do {
                    for try await hint in hints { continuation.yield(hint) }
                    continuation.finish()
                } catch {
                    continuation.finish(throwing: error)
                }
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
