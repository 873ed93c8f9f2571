import SyncCore
import SyncModel
import SyncServerHTTP
import SyncTransportHTTP
import TestRings
import Testing

/// After a call on a silently lost connection times out or is cancelled, the next call uses another connection.
@Suite(.ring(.check), .timeLimit(.minutes(15))) struct LostConnectionTests {
    /// The timeouts of calls on working connections, in the order in which they are tried.
    ///
    /// If a call on a working connection times out, the scenario runs again with the next timeout, so a slow machine
    /// does not fail the test. The last timeout is exceeded only if a call hangs.
    private static let timeouts: [Duration] = [.seconds(1), .seconds(10), .seconds(100)]

    /// Runs a scenario with longer and longer timeouts until its working connections respond in time.
    ///
    /// - Parameter scenario: returns false if a working connection did not respond in time.
    private static func untilInTime(_ scenario: (Duration) async throws -> Bool) async throws {
        for timeout in timeouts where try await scenario(timeout) { return }
        Issue.record("a call on a new connection has no response, although its timeout was \(timeouts[2])")
    }

    private static func run<Result: Sendable>(
        call: Duration, silence: Duration = .seconds(900),
        _ body: @Sendable @escaping (HTTPTransport, ForgetfulRouter) async throws -> Result
    ) async throws -> Result {
        let files = try TestCertificate.make()
        defer { files.remove() }
        let server = SyncServerConfiguration(tls: .init(certificateChain: files.certificate, privateKey: files.key))
        return try await TestServer.run(TestServer.authority(), configuration: server) { port in
            try await ForgetfulRouter.run(to: port) { router, port in
                let configuration = HTTPTransportConfiguration(
                    baseURL: "https://localhost:\(port)", connectTimeout: .seconds(900), readTimeout: call,
                    callTimeout: call, hintsTimeout: silence, trustedCertificates: files.certificate)
                return try await TestServer.withTransport(configuration) { try await body($0, router) }
            }
        }
    }

    private static func hasResponse(_ transport: HTTPTransport) async throws -> Bool {
        do {
            _ = try await transport.hello()
            return true
        } catch  where error.code == .timedOut {
            return false
        }
    }

    @Test func `the call after a timeout uses another connection`() async throws {
        try await Self.untilInTime { timeout in
            try await Self.run(call: timeout) { transport, router in
                guard try await Self.hasResponse(transport) else { return false }
                router.forget()
                let isLost = try await !Self.hasResponse(transport)
                #expect(isLost)
                return try await Self.hasResponse(transport)
            }
        }
    }

    @Test func `the call after a cancelled one uses another connection`() async throws {
        try await Self.run(call: .seconds(900)) { transport, router in
            _ = try await transport.hello()
            router.forget()
            await withTaskGroup { group in
                group.addTask {
                    let failure = await #expect(throws: TransportError.self) { try await transport.hello() }
                    #expect(failure?.code == .cancelled, "\(failure?.description ?? "")")
                }
                for await _ in router.dropped { break }
                group.cancelAll()
            }
            _ = try await transport.hello()
        }
    }

    @Test func `the event stream after a silent one uses another connection`() async throws {
        try await Self.untilInTime { timeout in
            try await Self.run(call: .seconds(900), silence: timeout) { transport, router in
                for _ in 0..<3 {
                    var hasBegun = false
                    do {
                        for try await _ in transport.hints(for: [.default]) {
                            hasBegun = true
                            router.forget()
                        }
                    } catch let failure as TransportError where failure.code == .timedOut {}
                    guard hasBegun else { return false }
                }
                return true
            }
        }
    }
}
