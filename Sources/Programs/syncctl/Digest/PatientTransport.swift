import SyncConcurrency
import SyncCore
import SyncModel

/// A transport that waits as long as the server asks, and then repeats the call.
final class PatientTransport: Sendable {
    private let transport: any RemoteTransport
    private let clock: any Clock<Duration>
    /// The time that is left for pauses. A longer pause is a failure.
    private let rest: Guarded<Duration>

    init(_ transport: any RemoteTransport, clock: any Clock<Duration>, allPauses: Duration) {
        self.transport = transport
        self.clock = clock
        rest = Guarded(allPauses)
    }

    /// - Throws: `TransportError`, even for a pause of unknown length or longer than the time that is left;
    ///   `CancellationError` when the task is cancelled during a pause.
    func hello() async throws -> ServerHello {
        try await patiently { try await transport.hello() }
    }

    /// - Throws: `TransportError`, even for a pause of unknown length or longer than the time that is left;
    ///   `CancellationError` when the task is cancelled during a pause.
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
                    guard pause <= rest else { return false }
                    rest -= pause
                    return true
                }
                guard isLeft else { throw failure }
                try await clock.sleep(for: pause)
            }
        }
    }
}
