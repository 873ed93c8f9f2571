import ServiceLifecycle
import SyncConcurrency
import SyncCore
import SyncProgram

/// Tells the engine when the token file changes while the server refuses the old token.
///
/// The engine then sends a request at once, instead of after the long wait that follows a refusal. The watch polls the
/// file only while the server refuses the token.
struct TokenWatch: Service {
    let token: TokenSource
    let status: Broadcast<SyncStatus>
    let currentStatus: @Sendable () -> SyncStatus
    let credentialsChanged: @Sendable () -> Void
    let clock: any Clock<Duration>

    init(token: TokenSource, engine: SyncEngine, clock: any Clock<Duration>) {
        self.init(
            token: token, status: engine.status, currentStatus: { engine.currentStatus },
            credentialsChanged: { engine.credentialsChanged() }, clock: clock)
    }

    init(
        token: TokenSource, status: Broadcast<SyncStatus>, currentStatus: @escaping @Sendable () -> SyncStatus,
        credentialsChanged: @escaping @Sendable () -> Void, clock: any Clock<Duration>
    ) {
        self.token = token
        self.status = status
        self.currentStatus = currentStatus
        self.credentialsChanged = credentialsChanged
        self.clock = clock
    }

    /// The time between two checks of the file.
    static let interval = Duration.seconds(5)

    func run() async throws {
        await cancelWhenGracefulShutdown { await watch() }
        // If a service ended by itself while the engine is stopping, ServiceGroup would cancel the engine.
        try? await gracefulShutdown()
    }

    func watch() async {
        var shown = token.current
        for await news in status.subscribe() {
            guard case .refused = news.connection else {
                shown = token.current
                continue
            }
            while case .refused = currentStatus().connection {
                let newest = token.current
                if newest != shown {
                    shown = newest
                    credentialsChanged()
                }
                guard (try? await clock.sleep(for: Self.interval)) != nil else { return }
            }
        }
    }
}
