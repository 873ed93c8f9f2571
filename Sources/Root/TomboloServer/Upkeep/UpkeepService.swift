import Logging
import ServiceLifecycle
import SyncAuthority
import SyncCore

/// Removes old commits and conflicts from a server's database, a slice at a time, so that it does not grow forever, and
/// measures what each account stores.
///
/// A device whose cursor needs a removed commit starts again with a snapshot. The service blocks its thread while
/// SQLite works, and therefore runs on the executor that the runtime provides.
actor UpkeepService: Service {
    private let authority: Authority
    private let kept: FeedBound
    private let clock: any Clock<Duration>
    private let logger: Logger
    private nonisolated let home: ActorExecutor
    /// Whether the last slice has removed conflicts.
    private var isTrimmingConflicts = false

    /// The pause between two slices, so that writers get their turn.
    static let pause = Duration.milliseconds(10)
    /// The time between two checks when everything is within its bound. A busy space gets some thousands of commits
    /// meanwhile.
    static let interval = Duration.seconds(60)
    /// The time between two measurements of what each account stores, which read all records.
    static let measurementInterval = Duration.seconds(600)

    /// Creates the service.
    ///
    /// - Parameter kept: the commits to keep per space.
    init(authority: Authority, kept: FeedBound, runtime: EngineRuntime, logger: Logger) {
        self.authority = authority
        self.kept = kept
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

    /// Removes old data until the task is cancelled.
    func keepUp() async throws {
        var sinceMeasurement = Self.measurementInterval
        while true {
            if sinceMeasurement >= Self.measurementInterval {
                measure()
                sinceMeasurement = .zero
            }
            let pause = trim() ? Self.pause : Self.interval
            try await clock.sleep(for: pause)
            sinceMeasurement += pause
        }
    }

    private func measure() {
        do throws(AuthorityError) {
            try authority.measureUsage()
        } catch {
            logger.warning("The amounts that accounts store were not measured.", metadata: ["reason": "\(error)"])
        }
    }

    /// Removes one slice.
    ///
    /// - Returns: whether there may be more to remove.
    private func trim() -> Bool {
        do throws(AuthorityError) {
            let hasLongFeed = try authority.trimFeeds(to: kept)
            let hasManyConflicts = try authority.trimConflicts()
            if hasManyConflicts, !isTrimmingConflicts {
                logger.warning(
                    "The oldest conflicts are removed. Devices that have not fetched them learn of it.",
                    metadata: [
                        "conflicts": "\(AuthorityLimits.keptConflicts)",
                        "bytes": "\(AuthorityLimits.keptConflictBytes)",
                    ])
            }
            isTrimmingConflicts = hasManyConflicts
            return hasManyConflicts || hasLongFeed
        } catch {
            // The disk may be full, or another program may be writing. The next attempt can wait.
            logger.warning("Old commits and conflicts are still kept.", metadata: ["reason": "\(error)"])
            return false
        }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { home.unownedExecutor }
}
