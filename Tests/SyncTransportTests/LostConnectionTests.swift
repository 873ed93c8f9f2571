import SyncCore
import SyncModel
import SyncServerHTTP
import SyncTransportHTTP
import TestRings
import Testing

/// After a call on a silently lost connection times out or is canceled, the next call uses another connection.
@Suite(.ring(.check), .timeLimit(.minutes(15))) struct LostConnectionTests {
    /// The number of attempts. Calls can time out on a busy machine, so this is far more than the test needs.
    private static let tries = 20

    private static func run(
        allowsHTTP2: Bool, call: Duration, silence: Duration = .seconds(900),
        _ body: @Sendable @escaping (HTTPTransport, ForgetfulRouter) async throws -> Void
    ) async throws {
        let files = try TestCertificate.make()
        defer { files.remove() }
        let server = SyncServerConfiguration(tls: .init(certificateChain: files.certificate, privateKey: files.key))
        try await TestServer.run(TestServer.authority(), configuration: server) { port in
            try await ForgetfulRouter.run(to: port) { router, port in
                let configuration = HTTPTransportConfiguration(
                    baseURL: "https://localhost:\(port)", connectTimeout: .seconds(900), readTimeout: call,
                    callTimeout: call, hintsTimeout: silence, trustedCertificates: files.certificate,
                    allowsHTTP2: allowsHTTP2)
                try await TestServer.withTransport(configuration) { try await body($0, router) }
            }
        }
    }

    private static func hasAnswer(_ transport: HTTPTransport) async throws -> Bool {
        do {
            _ = try await transport.hello()
            return true
        } catch  where error.code == .timedOut {
            return false
        }
    }

    private static func answers(_ transport: HTTPTransport) async throws -> Bool {
        for _ in 0..<tries where try await hasAnswer(transport) { return true }
        return false
    }

    @Test(arguments: [true, false])
    func `the call after a timeout uses another connection`(allowsHTTP2: Bool) async throws {
        try await Self.run(allowsHTTP2: allowsHTTP2, call: .seconds(1)) { transport, router in
            let atFirst = try await Self.answers(transport)
            router.forget()
            let lost = try await Self.hasAnswer(transport)
            let afterwards = try await Self.answers(transport)
            #expect((atFirst, lost, afterwards) == (true, false, true))
        }
    }

    @Test(arguments: [true, false])
    func `the call after a canceled one uses another connection`(allowsHTTP2: Bool) async throws {
        try await Self.run(allowsHTTP2: allowsHTTP2, call: .seconds(900)) { transport, router in
            _ = try await transport.hello()
            router.forget()
            await withTaskGroup { group in
                group.addTask {
                    let failure = await #expect(throws: TransportError.self) { try await transport.hello() }
                    #expect(failure?.code == .cancelled, "\(failure?.description ?? "")")
                }
                for await _ in router.swallowed { break }
                group.cancelAll()
            }
            _ = try await transport.hello()
        }
    }

    @Test(arguments: [true, false])
    func `the event stream after a silent one uses another connection`(allowsHTTP2: Bool) async throws {
        try await Self.run(allowsHTTP2: allowsHTTP2, call: .seconds(900), silence: .seconds(1)) { transport, router in
            /// Opens a stream, and drops its connection once it delivers the head of its space. Returns whether it did.
            func begins() async throws -> Bool {
                var hasBegun = false
                do {
                    for try await _ in transport.hints(for: [.default]) {
                        hasBegun = true
                        router.forget()
                    }
                } catch let failure as TransportError where failure.code == .timedOut {}
                return hasBegun
            }
            for _ in 0..<3 {
                var hasBegun = false
                for _ in 0..<Self.tries where !hasBegun { hasBegun = try await begins() }
                #expect(hasBegun)
            }
        }
    }
}
