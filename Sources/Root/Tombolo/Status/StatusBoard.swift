import Foundation
public import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import SyncProgram

/// Derives the client's status from the engine, the lease, the token, and the journal, and publishes each change.
final class StatusBoard: Sendable {
    private let parts: ClientParts
    private let token: TokenKeeper?
    private let facts = Guarded(Facts())
    private let published = Broadcast<ClientStatus>()
    private let watcher = Guarded<Task<Void, Never>?>(nil)

    /// Facts that only the background sync knows.
    struct Facts: Sendable {
        /// The process that has the lease; nil before the first attempt to take it.
        var holder: Holder?
        /// The reason why the sync has ended or cannot begin; nil if there is none.
        var failure: String?
        /// Whether the sync waits for the first `syncNow()`.
        var isWaiting = false
        var isStopped = false
        /// The status that was published last, and the number of its derivation.
        var last: (status: ClientStatus, derivation: Int)?
        /// The number of derivations that have begun.
        var derivations = 0

        enum Holder: Hashable, Sendable {
            case thisProcess
            case other(Int32?)
        }
    }

    init(parts: ClientParts, token: TokenKeeper?) {
        self.parts = parts
        self.token = token
        let changes = parts.store.changes.subscribe()
        let engineStatus = parts.engine?.status.subscribe()
        let task = parts.runtime.spawn { [weak self] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { [weak self] in
                    for await change in changes where change.touchesOutbox || change.touchesSpaces { self?.refresh() }
                }
                if let engineStatus {
                    group.addTask { [weak self] in
                        for await _ in engineStatus { self?.refresh() }
                    }
                }
            }
        }
        watcher.withLock { $0 = task }
    }

    deinit {
        watcher.withLock { $0?.cancel() }
    }

    /// Changes facts, and publishes the status that follows from them.
    func update(_ change: @Sendable (inout Facts) -> Void) {
        facts.withLock { change(&$0) }
        refresh()
    }

    func finish() {
        update { $0.isStopped = true }
        published.finish()
        watcher.withLock { $0?.cancel() }
    }

    var current: ClientStatus { derive() }

    var updates: ClientStatusUpdates {
        ClientStatusUpdates(board: self)
    }

    fileprivate func subscribe() -> Broadcast<ClientStatus>.Subscription { published.subscribe() }

    /// Publishes the status, if it has changed.
    ///
    /// Several threads may call this at once. A status never replaces one whose derivation began later.
    ///
    /// - Returns: the status that was published last.
    @discardableResult func refresh() -> ClientStatus {
        let derivation = facts.withLock { facts in
            facts.derivations += 1
            return facts.derivations
        }
        let status = derive()
        return facts.withLock { facts in
            let last = facts.last
            if let last, last.derivation > derivation { return last.status }
            facts.last = (status, derivation)
            // Under the lock, so that statuses are published in this order. It never waits, and runs no reader's code.
            if last?.status != status { published.publish(status) }
            return status
        }
    }

    private func derive() -> ClientStatus {
        let engine = parts.engine?.currentStatus
        var (phase, reason) = phase(engine)
        var (progress, rejected) = (StoredProgress?.none, 0)
        do throws(StoreError) {
            let stored = try parts.store.progress()
            progress = stored
            // Rejections are counted only if the journal has active entries.
            if stored.outbox.activeJournalEntries > 0 { rejected = try parts.store.rejectionCount() }
        } catch {
            // After a close, the store cannot be read, and that is not an error.
            if phase != .stopped { (phase, reason) = (.blocked, error.message) }
        }
        return ClientStatus(
            phase: phase, reason: reason, pending: progress?.outbox.count ?? 0, waiting: progress?.outbox.held ?? 0,
            rejected: rejected,
            pausedUntil: phase == .paused || phase == .live ? engine?.pausedUntil.map(Date.init(time:)) : nil,
            lastInSync: (engine?.contact.lastSync ?? progress?.contact.lastSync).map(Date.init(time:)),
            isInSync: phase != .blocked && progress.map { isInSync($0, engine, phase) } ?? false,
            spaces: (progress?.spaces ?? []).map {
                ClientStatus.Space(space: $0.space, isComplete: $0.isComplete, hasAccess: $0.hasAccess)
            })
    }

    private func isInSync(_ progress: StoredProgress, _ engine: SyncStatus?, _ phase: ClientStatus.Phase) -> Bool {
        switch phase {
        // If a process syncs, it is another one, of which only the database tells.
        case .notSyncing, .otherProcess: progress.isInSync
        // The engine notices a write, or a space that was followed, a moment after the program has made it. Before its
        // first contact, it knows no spaces.
        case .offline, .paused, .connecting, .live, .needsToken, .blocked, .stopped:
            engine.map { engine in
                engine.isInSync && !engine.spaces.isEmpty && progress.outbox.count == 0
                    && progress.spaces.allSatisfy { followed in engine.spaces.contains { $0.space == followed.space } }
            } ?? false
        }
    }

    /// The reason why the token of the settings cannot be used; nil if it can, or if there is none.
    private var missingToken: String? {
        guard let server = parts.settings.server, server.token?.current == nil else { return nil }
        return server.tokenProblem?.message
            ?? "no token is configured: give the client a token closure, or set server.token-file"
    }

    private func phase(_ engine: SyncStatus?) -> (ClientStatus.Phase, String) {
        let (holder, failure, isStopped, isWaiting) = facts.withLock {
            ($0.holder, $0.failure, $0.isStopped, $0.isWaiting)
        }
        if isStopped { return (.stopped, "the client is closed") }
        guard let engine else { return (.notSyncing, "") }
        if isWaiting { return (.notSyncing, "the sync starts with syncNow()") }
        if let failure { return (.blocked, failure) }
        switch holder {
        case .other(let process)?:
            return (
                .otherProcess,
                process.map { "process \($0) syncs this database" } ?? "another process syncs this database"
            )
        case .thisProcess?, nil:
            return ClientStatus.phase(of: engine, token: token, problem: token == nil ? missingToken : nil)
        }
    }
}

extension Date {
    fileprivate init(time: WallTime) {
        self.init(timeIntervalSince1970: Double(time.milliseconds) / 1_000)
    }
}

extension ClientStatus: Coalescing {
    /// The later status replaces the earlier one.
    public mutating func absorb(_ later: ClientStatus) {
        self = later
    }
}

/// The state of a client's sync, now and after each change. Equal states are never repeated, and a slow reader gets the
/// newest. Ends when the client is closed.
public struct ClientStatusUpdates: AsyncSequence, Sendable {
    public typealias Element = ClientStatus
    public typealias Failure = Never

    let board: StatusBoard

    public func makeAsyncIterator() -> Iterator {
        // Subscribe before the first read, so that no change is missed in between.
        Iterator(board: board, changes: board.subscribe().makeAsyncIterator())
    }

    /// The iterator, for one reader.
    public struct Iterator: AsyncIteratorProtocol {
        let board: StatusBoard
        var changes: Broadcast<ClientStatus>.Subscription.Iterator
        var last: ClientStatus?

        public mutating func next(isolation actor: isolated (any Actor)?) async -> ClientStatus? {
            while true {
                let status: ClientStatus
                if last == nil {
                    // A status that was derived earlier is not published after this one.
                    status = board.refresh()
                } else if let change = await changes.next(isolation: actor) {
                    status = change
                } else {
                    return nil
                }
                guard status != last else { continue }
                last = status
                return status
            }
        }

        public mutating func next() async -> ClientStatus? {
            await next(isolation: #isolation)
        }
    }
}
