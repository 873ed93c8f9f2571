import Logging
import ServiceLifecycle
import SyncAuthority

/// The upkeep of a server's database as a service: what its feeds hold beyond their bound goes, a slice at a time, so that
/// the file does not grow with the years. Who has been away for longer reads a snapshot.
struct UpkeepService: Service {
    let authority: Authority
    /// How many commits of each space stay.
    let keptCommits: Int
    let clock: any Clock<Duration>
    let logger: Logger

    /// Between two slices: those who write have their turn.
    static let pause = Duration.milliseconds(50)
    /// Between two looks when all is within its bound: a busy space gets some thousands of commits meanwhile.
    static let interval = Duration.seconds(60)

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await keepUp() }
        } catch is CancellationError {
            return
        }
    }

    /// Looks after the feeds until the task is cancelled.
    func keepUp() async throws {
        while true { try await clock.sleep(for: shortenFeeds() ? Self.pause : Self.interval) }
    }

    private func shortenFeeds() -> Bool {
        do throws(AuthorityFailure) {
            return try authority.shortenFeeds(to: keptCommits)
        } catch {
            // The disk may be full, or another program may write: there is time.
            logger.warning("Old commits are still kept.", metadata: ["reason": "\(error)"])
            return false
        }
    }
}
