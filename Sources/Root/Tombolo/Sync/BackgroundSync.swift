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
    private let state = Guarded(State())

    private struct State: Sendable {
        var task: Task<Void, Never>?
        /// Whether the sync waits for ``begin()``.
        var isWaiting = false
        var isRunning = false
        var isStopping = false
    }

    /// The time between two attempts to take the lease. A system call, and no work for the other process.
    private static let leaseInterval = Duration.seconds(1)
    /// The first and the longest wait between two calls of the token closure while the server refuses.
    private static let tokenIntervals = (first: Duration.seconds(5), longest: Duration.seconds(300))

    /// - Parameter isWaiting: whether the sync begins with ``begin()``, and not at once.
    init(services: ClientServices, parts: ClientParts, token: TokenKeeper?, board: StatusBoard, isWaiting: Bool) {
        self.services = services
        self.parts = parts
        self.token = token
        self.board = board
        state.withLock { $0.isWaiting = isWaiting }
        if isWaiting { board.update { $0.isWaiting = true } } else { start() }
    }

    /// Begins a sync that waits for it. Later calls do nothing.
    func begin() {
        let isWaiting = state.withLock { state in
            defer { state.isWaiting = false }
            return state.isWaiting && !state.isStopping
        }
        guard isWaiting else { return }
        board.update { $0.isWaiting = false }
        start()
    }

    private func start() {
        let task = parts.runtime.spawn { [self] in await run() }
        state.withLock { $0.task = task }
    }

    /// Ends the sync gracefully: what is on its way may still arrive.
    func stop() async {
        let (task, isRunning) = state.withLock { state in
            state.isStopping = true
            return (state.task, state.isRunning)
        }
        if isRunning { await services.stop() } else { task?.cancel() }
        await task?.value
        state.withLock { $0.task = nil }
    }

    func refreshToken() async {
        guard let token else { return }
        await token.refresh()
        services.engine.credentialsChanged()
        board.refresh()
    }

    private func run() async {
        guard let lease = await waitForLease() else { return }
        defer { withExtendedLifetime(lease) {} }
        await token?.refresh()
        let mayRun = state.withLock { state in
            state.isRunning = !state.isStopping
            return state.isRunning
        }
        guard mayRun else { return }
        let watch = token.map { token in
            [
                parts.runtime.spawn { [self] in await renew(token) },
                parts.runtime.spawn { [self] in await renewBeforeExpiry(token) },
            ]
        }
        do {
            try await services.run()
        } catch is CancellationError {
        } catch {
            parts.logger.error("The sync has ended.", metadata: ["reason": "\(error)"])
            board.update { $0.failure = "the sync has ended: \(error)" }
        }
        for task in watch ?? [] { task.cancel() }
    }

    /// Waits until this process may sync the database; nil when it is stopped before.
    private func waitForLease() async -> (any Sendable)? {
        while !Task.isCancelled {
            do throws(StoreError) {
                switch try parts.lease() {
                case .acquired(let lease):
                    board.update { facts in
                        facts.holder = .us
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

    /// Calls the token closure while the server refuses the token, with growing waits in between.
    private func renew(_ token: TokenKeeper) async {
        let engine = services.engine
        for await news in engine.status.subscribe() {
            guard case .refused(let failure) = news.connection, failure.code == .unauthorized else { continue }
            var wait = Self.tokenIntervals.first
            while case .refused = engine.currentStatus.connection {
                if await token.refresh() { engine.credentialsChanged() }
                board.refresh()
                guard (try? await parts.runtime.clock.sleep(for: wait)) != nil else { return }
                wait = min(wait * 2, Self.tokenIntervals.longest)
            }
        }
    }

    /// Calls the token closure shortly before each token expires, if the expiry is known.
    private func renewBeforeExpiry(_ token: TokenKeeper) async {
        let engine = services.engine
        var timer: Task<Void, Never>?
        for await secret in token.tokens {
            timer?.cancel()
            guard let use = token.use(of: secret) else { continue }
            timer = parts.runtime.spawn { [clock = parts.runtime.clock] in
                guard (try? await clock.sleep(for: use)) != nil else { return }
                // When it fails, the token in use is good for a while, and then the server refuses it.
                if await token.refresh() { engine.credentialsChanged() }
            }
        }
        timer?.cancel()
    }
}
