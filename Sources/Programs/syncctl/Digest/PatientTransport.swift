import SyncConcurrency
import SyncCore
import SyncModel

/// Makes a server's calls, and repeats a call after each pause that the server asks for.
struct PatientTransport: Sendable {
    private let transport: any RemoteTransport
    private let clock: any Clock<Duration>
    /// The time that is left for pauses. A longer pause is a failure.
    private let rest: Guarded<Duration>

    init(_ transport: any RemoteTransport, clock: any Clock<Duration>, allPauses: Duration) {
        self.transport = transport
        self.clock = clock
        rest = Guarded(allPauses)
    }

    /// - Throws: `TransportError`; also for a pause that is longer than the time that is left, or whose length is unknown.
    func hello() async throws -> ServerHello {
        try await patiently { try await transport.hello() }
    }

    /// - Throws: `TransportError`; also for a pause that is longer than the time that is left, or whose length is unknown.
    func pull(_ request: PullRequest) async throws -> PullResponse {
        try await patiently { try await transport.pull(request) }
    }

    private func patiently<Response>(_ call: () async throws -> Response) async throws -> Response {
        while true {
            do {
                return try await call()
            } catch let failure as TransportError {
                guard failure.asksToWait, let pause = failure.retryAfter, pause > .zero else { throw failure }
                let isLeft = rest.withLock { rest in
                    rest -= pause
                    return rest >= .zero
                }
                guard isLeft else { throw failure }
                try await clock.sleep(for: pause)
            }
        }
    }
}
