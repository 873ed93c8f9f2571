import ArgumentParser
import SyncBootstrap
import SyncConcurrency
import SyncCore
import SyncModel
import SyncProgram

/// Syncs this device with the server.
struct SyncCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync", abstract: "Sync this device with the server.",
        discussion: """
            Sends the outbox and downloads changes, then exits. With --wait, it exits about a second after that time at \
            the latest. Downloaded data is kept, and the next sync resumes from it. If another process already syncs this \
            database, waits until that process has synced everything: up to 30 s, or up to the time given with --wait. With \
            --watch, keeps running until it is stopped, and records at least once a minute that everything is in sync. When \
            a watch is stopped, its exit status shows the obstacle to syncing. If there was none, it is 0, or 6 if the \
            journal has new entries.
            """)

    @OptionGroup var options: GlobalOptions
    @Flag(help: "Keep running, and sync whenever something changes.") var watch = false
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Maximum duration of the sync. Failures are retried during this time. Without this option, the first failure ends \
            the sync.
            """,
            valueName: "duration"),
        transform: SyncCommand.duration)
    var wait: Duration?
    @Flag(
        help: """
            Allow the deletions that the mass-delete brake holds back. Has no effect while another process syncs this \
            database.
            """)
    var allowDeletes = false

    func validate() throws {
        if watch, wait != nil {
            throw ValidationError("--watch and --wait cannot be combined: a watch runs until it is stopped")
        }
        if let wait, wait <= .zero {
            throw ValidationError("--wait: expected a duration greater than 0, or no --wait for a single attempt")
        }
    }

    static func duration(_ text: String) throws -> Duration {
        guard let duration = DurationText(parsing: text)?.duration else {
            throw ValidationError("'\(text)' is not a duration; expected a value such as 500ms, 30s, or 5m")
        }
        return duration
    }

    func run() async throws {
        let terminal = options.terminal
        try await options.withClient { client in try await sync(client) }.print(to: terminal)
    }

    private func sync(_ client: ClientComposition) async throws -> SyncReport {
        _ = try client.transport
        let progress = Progress(options.terminal, uptime: client.runtime.uptime)
        defer { progress.finish() }
        let start = try SyncReport.Start(client.store)
        let ending: SyncEnding
        switch try client.acquireLease(within: Self.readerTimeout) {
        case .acquired(let lease):
            ending = try await run(client, progress)
            withExtendedLifetime(lease) {}
        case .held(let process):
            guard !watch else {
                throw CommandError(
                    .syncedElsewhere, "another process\(process.map { " (\($0))" } ?? "") syncs this database already")
            }
            ending = try await waitForOther(process, client, progress)
        }
        return try SyncReport(ending: ending, since: start, store: client.store, elapsed: progress.elapsed)
    }

    // MARK: This process's engine

    private func run(_ client: ClientComposition, _ progress: Progress) async throws -> SyncEnding {
        let services = try client.services(handlesSignals: true)
        ProgramSignals.endProcess(afterDeadline: client.settings.stopDeadline)
        let engine = services.engine
        let allow = { @Sendable (space: SpaceID) in engine.allowDeletes(in: space) }
        let follower = SyncFollower(
            isWatching: watch, timeout: wait ?? .zero, terminal: options.terminal,
            allowDeletes: allowDeletes ? allow : nil)
        let updates = engine.status.subscribe()
        let clock = client.runtime.clock
        let timeout = wait ?? .zero
        let (store, now) = (try client.store, client.runtime.now)
        let latest = Guarded(SyncStatus?.none)
        let ending = try await withThrowingTaskGroup(of: SyncEnding?.self) { group in
            group.addTask {
                try await services.run()
                return nil
            }
            group.addTask {
                var follower = follower
                for await status in updates {
                    latest.withLock { $0 = status }
                    if let ending = follower.follow(status, progress) {
                        await services.stop()
                        return ending
                    }
                }
                return follower.endingOfStop
            }
            if watch {
                group.addTask {
                    // Keeps "last sync" current while nothing changes: the engine records that only at its polls.
                    while (try? await clock.sleep(for: Self.noteInterval)) != nil {
                        guard case .online = engine.currentStatus.connection, engine.currentStatus.isInSync else {
                            continue
                        }
                        try? store.note(.confirmedInSync, now: now())
                    }
                    return nil
                }
            }
            if !watch, timeout > .zero {
                group.addTask {
                    // When the wait is over, `syncNow` makes the engine publish its status, so that the follower can
                    // end a sync with a silent server.
                    guard (try? await clock.sleep(for: max(.zero, timeout - progress.elapsed))) != nil else {
                        return nil
                    }
                    engine.syncNow()
                    guard (try? await clock.sleep(for: Self.grace)) != nil else { return nil }
                    // A request to a silent server may still be open, and a server can send pages forever.
                    let status = latest.withLock { $0 }
                    await services.stop()
                    return SyncEnding(at: status, after: timeout)
                }
            }
            var ending: SyncEnding?
            while let result = try await group.next() {
                if let result {
                    // The task that ends the wait stops the services, which makes the follower report an interruption.
                    // Any other ending takes precedence.
                    if case .interrupted = ending ?? .interrupted { ending = result }
                    group.cancelAll()
                }
            }
            return ending ?? .interrupted
        }
        record(ending, client)
        return ending
    }

    /// Records that the sync is complete, or why it has failed, for `syncctl status` and `syncctl doctor`. Only the
    /// holder of the lease may call this.
    ///
    /// The engine itself records its failures, but it does not know that a wait is over, or that a sync cannot make
    /// progress. On a full disk, nothing can be recorded.
    private func record(_ ending: SyncEnding, _ client: ClientComposition) {
        guard let store = try? client.store else { return }
        if case .inSync = ending {
            try? store.note(.confirmedInSync, now: client.runtime.now())
            return
        }
        guard let failure = ending.failure, (try? store.contact())?.lastFailure?.message != failure.message
        else { return }
        try? store.note(.failed(code: failure.code, message: failure.message), now: client.runtime.now())
    }

    // MARK: Another process's engine

    private func waitForOther(
        _ process: Int32?, _ client: ClientComposition, _ progress: Progress
    ) async throws -> SyncEnding {
        let store = try client.store
        let name = process.map(String.init) ?? "unknown"
        options.terminal.note("process \(name) syncs this database; waiting until it has synced everything")
        let wait = wait ?? .zero
        let timeout = wait > .zero ? wait : Self.leaseTimeout
        // Without the request, that process tries again when its pause is over, which may take minutes.
        try? client.requestSyncElsewhere()
        var other = OtherEngine(client: client, process: process)
        while progress.elapsed < timeout {
            let outbox = try store.outboxSummary()
            // Transactions that are held back stay in the outbox after a sync.
            let left = outbox.count - outbox.held
            var work = "\(left) left"
            if left == 0 {
                switch try await other.look(within: timeout - progress.elapsed) {
                case .inSync:
                    if let ending = try ending(of: store, syncedBy: process) { return ending }
                case .obstacle(let ending, let isLasting):
                    if isLasting || progress.elapsed >= max(wait, Self.recoveryTime) { return ending }
                case .behind(let lack): work = lack
                }
            }
            progress.show("waiting for process \(name): \(work)")
            if case .acquired(let lease) = try client.acquireLease() {
                defer { withExtendedLifetime(lease) {} }
                return try await run(client, progress)
            }
            try await client.runtime.clock.sleep(for: left == 0 ? .milliseconds(500) : .milliseconds(100))
        }
        switch try await other.look(within: Self.grace) {
        case .obstacle(let ending, _): return ending
        case .behind(let lack): return .syncedElsewhere(process, lack: lack)
        case .inSync: return try ending(of: store, syncedBy: process) ?? .syncedElsewhere(process, lack: nil)
        }
    }

    /// Returns the ending after a comparison with the server found nothing missing; nil if transactions are still to be
    /// sent. The outbox may have changed during the comparison: an upgraded server releases transactions that were
    /// held back.
    private func ending(of store: any LocalStore, syncedBy process: Int32?) throws -> SyncEnding? {
        let outbox = try store.outboxSummary()
        guard outbox.count == outbox.held else { return nil }
        return outbox.held > 0 ? .held : .syncedByOther(process)
    }

    /// Time for the other process to recover from a failure that it has recorded.
    private static let recoveryTime = Duration.seconds(2)
    /// The longest wait for the lease: longer than `syncctl status` holds it to check whether it is free.
    private static let readerTimeout = Duration.milliseconds(100)
    /// The extra time for the engine to publish its status, and for the server to respond, when the wait ends.
    private static let grace = Duration.milliseconds(500)
    /// The time between two records of a `--watch` run that everything is still in sync. The help text promises at
    /// least one per minute.
    private static let noteInterval = Duration.seconds(45)
    /// The longest wait for another process if there is no `--wait`: longer than an engine needs for a typical outbox.
    private static let leaseTimeout = Duration.seconds(30)
}
