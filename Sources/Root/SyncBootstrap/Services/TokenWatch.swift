import ServiceLifecycle
import SyncConcurrency
import SyncCore
import SyncProgram

/// Tells the engine that the token file has changed while the server refuses the old token: it is asked again at once, not at the
/// end of the long wait after a refusal.
///
/// The file is looked at only while the server refuses.
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

    /// Between two looks at the file.
    static let interval = Duration.seconds(5)

    func run() async throws {
        await cancelWhenGracefulShutdown { await watch() }
        // A service that ends by itself while the engine is stopping would have the engine cancelled.
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
