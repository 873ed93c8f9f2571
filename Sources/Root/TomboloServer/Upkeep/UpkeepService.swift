import Logging
import ServiceLifecycle
import SyncAuthority
import SyncCore

/// The upkeep of a server's database as a service: what its feeds hold beyond their bound goes, a slice at a time, so that
/// they do not grow with the years. Who has been away for longer reads a snapshot.
///
/// It blocks its thread while SQLite works, and therefore runs where the runtime wants that.
actor UpkeepService: Service {
    private let authority: Authority
    private let keptCommits: Int
    private let clock: any Clock<Duration>
    private let logger: Logger
    private nonisolated let home: ActorExecutor

    /// Between two slices: those who write have their turn.
    static let pause = Duration.milliseconds(10)
    /// Between two looks when all is within its bound: a busy space gets some thousands of commits meanwhile.
    static let interval = Duration.seconds(60)

    /// - Parameter keptCommits: how many commits of each space stay.
    init(authority: Authority, keptCommits: Int, runtime: EngineRuntime, logger: Logger) {
        self.authority = authority
        self.keptCommits = keptCommits
        clock = runtime.clock
        home = ActorExecutor(runtime)
        self.logger = logger
    }

    nonisolated func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.keepUp() }
        } catch is CancellationError {
            return
        }
    }

    /// Looks after the feeds until the task is cancelled.
    func keepUp() async throws {
        while true { try await clock.sleep(for: shorten() ? Self.pause : Self.interval) }
    }

    /// - Returns: whether there may be more to remove.
    private func shorten() -> Bool {
        do throws(AuthorityFailure) {
            let hasLongFeed = try authority.shortenFeeds(to: keptCommits)
            return try authority.shortenConflicts() || hasLongFeed
        } catch {
            // The disk may be full, or another program may write: there is time.
            logger.warning("Old commits and conflicts are still kept.", metadata: ["reason": "\(error)"])
            return false
        }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { home.unownedExecutor }
}
