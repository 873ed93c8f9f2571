import Logging
import ServiceLifecycle
import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// Keeps the mark of a server's database up to date. The mark records how far the change feeds have come.
///
/// With it, the next start recognizes a database that was restored from an older copy. The service blocks its thread
/// while it reads and writes, and therefore runs on the executor that the runtime provides.
actor MarkService: Service {
    private let authority: Authority
    private nonisolated let file: MarkFile
    private nonisolated let former: MarkFile
    private let clock: any Clock<Duration>
    private nonisolated let logger: Logger
    private nonisolated let home: ActorExecutor
    private var mark = HistoryMark()
    private var written: HistoryMark?

    /// The time between two writes of the mark. A process that is killed leaves the commits since the last write
    /// uncovered.
    static let interval = Duration.seconds(1)

    /// Creates the service of a server's database.
    ///
    /// - Parameters:
    ///   - file: The mark that the service keeps.
    ///   - former: The mark of a database in which this server may have kept its data before, or after the database was
    ///     copied. It is only read.
    init(authority: Authority, file: MarkFile, former: MarkFile, runtime: EngineRuntime, logger: Logger) {
        self.authority = authority
        self.file = file
        self.former = former
        clock = runtime.clock
        home = ActorExecutor(runtime)
        self.logger = logger
    }

    /// Compares the database with the marks of earlier runs. Must be called before serving.
    nonisolated func compare() throws(AuthorityError) {
        for file in [file, former] {
            if let mark = file.read() {
                try authority.recognizeRestore(by: mark)
            } else if file.isThere {
                logger.warning(
                    "The mark of the database cannot be read. A restore before this start is detected only when a device that has seen more connects.",
                    metadata: ["file": "\(file.path)"])
            }
        }
    }

    nonisolated func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await self.keep() }
        } catch is CancellationError {
            await update(nil)
        }
    }

    /// Follows the commits until the task is cancelled, and writes the mark at most once per interval.
    func keep() async throws {
        let commits = authority.commits.subscribe()
        if let earlier = file.read() { mark = earlier }
        update(nil)
        for await news in commits {
            update(news.heads.keys.sorted())
            try await clock.sleep(for: Self.interval)
        }
        try Task.checkCancellation()
    }

    /// Updates the mark. A failed write only loses one way to recognize a restore: clients can still prove it.
    private func update(_ spaces: [SpaceID]?) {
        do {
            try authority.update(&mark, of: spaces)
            guard mark != written else { return }
            try file.write(mark)
            written = mark
        } catch {
            logger.warning("The mark beside the database was not written.", metadata: ["reason": "\(error)"])
        }
    }

    nonisolated var unownedExecutor: UnownedSerialExecutor { home.unownedExecutor }
}
