import Logging
import SyncBootstrap
import SyncConcurrency
import SyncCore

/// Runs a client's services: waits for the lease, gets a token, and runs the engine until it is stopped.
final class BackgroundSync: Sendable {
    private let services: ClientServices
    private let parts: ClientParts
    private let token: TokenKeeper?
    private let board: StatusBoard
    private let stage = Guarded(Stage.waiting)

    private enum Stage: Sendable {
        /// Nothing has begun.
        case waiting
        /// The task waits for the lease or the first token. Cancelling the task ends the wait.
        case starting(Task<Void, Never>)
        /// The services run. They are stopped gracefully, so that requests in flight may finish.
        case running(Task<Void, Never>)
        case stopped

        var task: Task<Void, Never>? {
            switch self {
            case .starting(let task), .running(let task): task
            case .waiting, .stopped: nil
            }
        }
    }

    /// The time between two attempts to take the lease. An attempt is cheap, and makes no work for the other process.
    private static let leaseInterval = Duration.seconds(1)

    /// - Parameter isWaiting: whether the sync begins with ``begin()``, and not at once.
    init(services: ClientServices, parts: ClientParts, token: TokenKeeper?, board: StatusBoard, isWaiting: Bool) {
        self.services = services
        self.parts = parts
        self.token = token
        self.board = board
        if isWaiting { board.update { $0.isWaiting = true } } else { begin() }
    }

    /// Begins the sync. Later calls do nothing.
    func begin() {
        let begins = stage.withLock { stage in
            guard case .waiting = stage else { return false }
            stage = .starting(parts.runtime.spawn { [self] in await run() })
            return true
        }
        if begins { board.update { $0.isWaiting = false } }
    }

    /// Ends the sync gracefully: requests in flight get some seconds to finish.
    func stop() async {
        let stopped = stage.withLock { stage in
            defer { stage = .stopped }
            return stage
        }
        if case .running = stopped { await services.stop() } else { stopped.task?.cancel() }
        await stopped.task?.value
        token?.end()
    }

    func refreshToken() async {
        guard let token else { return }
        await token.refreshAfterThis()
        services.engine.credentialsChanged()
        board.refresh()
    }

    private func run() async {
        guard let lease = await waitForLease() else { return }
        defer { withExtendedLifetime(lease) {} }
        await token?.refresh()
        let mayRun = stage.withLock { stage in
            guard case .starting(let task) = stage else { return false }
            stage = .running(task)
            return true
        }
        guard mayRun else { return }
        // The subscriptions begin before the services, so that no status is missed.
        let news = services.engine.status.subscribe()
        var watch = [parts.runtime.spawn { [self] in await stopForNewerBuild(news) }]
        if let token {
            let news = services.engine.status.subscribe()
            watch.append(parts.runtime.spawn { [self] in await renew(token, news) })
            watch.append(parts.runtime.spawn { [self] in await renewBeforeExpiry(token) })
        }
        do {
            try await services.run()
        } catch is CancellationError {
        } catch {
            parts.logger.error("The sync has ended.", metadata: ["reason": "\(error)"])
            board.update { $0.failure = "the sync has ended: \(error)" }
        }
        for task in watch { task.cancel() }
    }

    /// Waits until this process may sync the database, and returns the lease; nil if the task is cancelled first.
    private func waitForLease() async -> (any Sendable)? {
        while !Task.isCancelled {
            do throws(StoreError) {
                switch try parts.lease() {
                case .acquired(let lease):
                    board.update { facts in
                        facts.holder = .thisProcess
                        facts.failure = nil
                    }
                    return lease
                case .held(let process):
                    board.update { facts in
                        facts.holder = .other(process)
                        facts.failure = nil
                    }
                }
            } catch {
                board.update { $0.failure = error.message }
            }
            guard (try? await parts.runtime.clock.sleep(for: Self.leaseInterval)) != nil else { return nil }
        }
        return nil
    }

    /// Ends the sync if the database has become one that this build cannot use, so that a newer build gets the lease.
    private func stopForNewerBuild(_ news: Broadcast<SyncStatus>.Subscription) async {
        for await news in news {
            guard let failure = news.storeFailure, failure.advice == .useTheRightBuild else { continue }
            parts.logger.error("The sync has ended.", metadata: ["reason": "\(failure.message)"])
            board.update { $0.failure = "the sync has ended: \(failure.message)" }
            await services.stop()
            return
        }
    }

    /// Calls the token closure while the server refuses the token.
    private func renew(_ token: TokenKeeper, _ news: Broadcast<SyncStatus>.Subscription) async {
        let engine = services.engine
        let renewal = TokenRenewal(of: token, runtime: parts.runtime) {
            engine.currentStatus.connection
        } hasCalled: { [board] isNew in
            if isNew { engine.credentialsChanged() }
            board.refresh()
        }
        await renewal.run(news)
    }

    /// Calls the token closure shortly before each token expires, if the expiry is known.
    private func renewBeforeExpiry(_ token: TokenKeeper) async {
        let engine = services.engine
        var timer: Task<Void, Never>?
        for await secret in token.tokens {
            timer?.cancel()
            guard let delay = token.planRenewal(of: secret) else { continue }
            timer = parts.runtime.spawn { [clock = parts.runtime.clock] in
                guard (try? await clock.sleep(for: delay)) != nil else { return }
                // If the refresh fails, the current token stays valid until it expires. Then the server refuses it, and
                // `renew` requests another one.
                if await token.refresh() { engine.credentialsChanged() }
            }
        }
        timer?.cancel()
    }
}
