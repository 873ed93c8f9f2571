import SyncConcurrency
import SyncCore

/// Calls the token closure while the server refuses the token. The waits between the calls grow until the server
/// accepts a token.
final class TokenRenewal: Sendable {
    private let token: TokenKeeper
    private let runtime: EngineRuntime
    private let connection: @Sendable () -> SyncStatus.Connection
    private let hasCalled: @Sendable (_ isNew: Bool) -> Void
    /// The earliest uptime of the next call. Without it, a server that alternately accepts and refuses tokens could
    /// cause an endless loop of calls without waits.
    private let earliest = Guarded(Duration.zero)

    /// The first and the longest wait between two calls.
    private static let intervals = (first: Duration.seconds(5), longest: Duration.seconds(300))

    /// - Parameters:
    ///   - connection: Returns the current state of the connection.
    ///   - hasCalled: Receives, after each call, whether there is another token than before.
    init(
        of token: TokenKeeper, runtime: EngineRuntime, connection: @escaping @Sendable () -> SyncStatus.Connection,
        hasCalled: @escaping @Sendable (_ isNew: Bool) -> Void
    ) {
        self.token = token
        self.runtime = runtime
        self.connection = connection
        self.hasCalled = hasCalled
    }

    /// Renews the token until the statuses end or the task is cancelled.
    func run(_ statuses: Broadcast<SyncStatus>.Subscription) async {
        var calls: Task<Void, Never>?
        for await status in statuses {
            switch status.connection {
            case .refused(let failure):
                guard calls == nil, failure.code == .unauthorized else { continue }
                calls = runtime.spawn { [self] in await repeatCalls() }
            case .online, .offline:
                // The server accepted a token, or the connection ended. The next refusal starts again with the first
                // interval.
                calls?.cancel()
                calls = nil
            case .notRunning, .connecting, .waiting, .paused, .storeFailed, .recovering, .stopped: continue
            }
        }
        calls?.cancel()
    }

    private func repeatCalls() async {
        var wait = max(.zero, earliest.withLock { $0 } - runtime.uptime())
        var next = Self.intervals.first
        while true {
            if wait > .zero {
                guard (try? await runtime.clock.sleep(for: wait)) != nil else { return }
            }
            if case .refused = connection() {
                let now = runtime.uptime()
                earliest.withLock { $0 = now + Self.intervals.first }
                hasCalled(await token.refresh())
            }
            guard !Task.isCancelled else { return }
            (wait, next) = (next, min(next * 2, Self.intervals.longest))
        }
    }
}
