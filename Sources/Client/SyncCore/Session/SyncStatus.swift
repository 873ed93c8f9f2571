public import SyncConcurrency
public import SyncModel

/// The engine's activity, and the reason why it does not do more.
///
/// The status is derived from the machines after each event. Each `retryIn` is the wait that was left at that moment.
public struct SyncStatus: Hashable, Sendable, Coalescing {
    /// The state of the connection, with the reason if it is not online.
    public var connection: Connection
    /// The activity of pushing the outbox.
    public var push: Activity
    /// One element per space, sorted by name.
    public var spaces: [Space]
    /// The counts of the outbox and the journal, as the engine last read them.
    public var outbox: OutboxSummary
    /// When everything was last in sync, and the last failure since then.
    public var contact = ServerContact()
    /// The failure of the local store that holds up pushing or pulling; nil when there is none.
    public var storeFailure: StoreError?
    /// Whether pushing or pulling waits because the server asked for a pause.
    public var isPaused = false
    /// The end of the pause that the server asked for; nil if nothing waits for it, or if the server named no time.
    public var pausedUntil: WallTime?
    /// The number of the last request (`SyncEngine.syncNow()`) after which all spaces were pulled to their ends.
    public var answeredRequests = 0

    /// The states of the connection to the server.
    public enum Connection: Hashable, Sendable {
        /// The engine has not started yet.
        case notRunning
        /// The device has no network. The associated text gives the reason.
        case offline(String)
        /// The device has a network, and waits for the response to a hello.
        case connecting
        /// The server has responded to a hello, and no request since has put the connection in doubt.
        case online
        /// The server did not respond, or failed. The engine tries again by itself.
        case waiting(TransportError, retryIn: Duration)
        /// The server responded and asked to wait, because it is busy or gets too many requests. The engine tries again
        /// by itself after the pause.
        case paused(TransportError, retryIn: Duration)
        /// The server has responded, but the local store could not record its history or the account. The engine tries
        /// again by itself.
        case storeFailed(StoreError, retryIn: Duration)
        /// A response came too late. The engine tries again, with a smaller page or batch if possible. If that does not
        /// help, `waiting` follows.
        case recovering(TransportError, retryIn: Duration)
        /// The server refuses the device, or speaks another protocol. Only a person can fix either.
        case refused(TransportError)
        /// The engine has finished its run.
        case stopped
    }

    /// The activity of one part of the engine: pushing, or pulling one space.
    public enum Activity: Hashable, Sendable {
        /// Nothing is left to do, as far as the device knows.
        case idle
        /// A request to the server or a transaction of the store is running.
        case working
        /// Waiting for the connection.
        case waitingForConnection
        /// Something is in the way. The engine tries again by itself.
        case waiting(String, retryIn: Duration)
        /// Something is in the way that another attempt may remove: after a contradiction, the engine repeats the pull
        /// or takes a fresh snapshot; a refused transaction is pushed again before it is withdrawn. If that does not
        /// help, `waiting` follows.
        case recovering(String, retryIn: Duration)
        /// Stopped before deleting this many of the device's records, until a person agrees.
        case braked(deletes: Int, of: Int)

        /// The description of what is in the way; nil if nothing is, or a person has to agree to deletes.
        public var obstacle: String? {
            switch self {
            case .waiting(let message, _), .recovering(let message, _): message
            case .idle, .working, .waitingForConnection, .braked: nil
            }
        }
    }

    /// The state of one space.
    public struct Space: Hashable, Sendable {
        /// The name of the space.
        public var space: SpaceID
        /// The activity of pulling this space.
        public var pull: Activity
        /// The version that the device has. Once `isComplete`, every commit up to this version is applied.
        public var version: Version
        /// The newest version known to exist.
        public var head: Version
        /// Whether the device holds the whole space at `version`.
        public var isComplete: Bool
        /// Whether the engine has caught up with the server since it started or the server's history changed.
        public var hasCaughtUp: Bool
        /// False when the account may not read the space. The device then holds nothing that the server has shown of
        /// the space.
        public var hasAccess: Bool

        /// Whether the server's head is below a version that it confirmed to this device. The server was probably
        /// restored from an older copy, and has not noticed.
        public var historyIsInDoubt: Bool

        /// Whether notices of overwritten values wait on the server until the user has handled some journal entries.
        public var noticesWait: Bool

        /// Whether the device holds everything of the space that it may hold, and no obstacle stops its pulls.
        public var isInSync: Bool {
            switch pull {
            case .waiting, .recovering, .braked: false
            case .idle, .working, .waitingForConnection:
                hasCaughtUp && (!hasAccess || (isComplete && version >= head))
            }
        }
    }

    /// Whether the server has confirmed everything written here, and everything that the account may read is here.
    public var isInSync: Bool {
        outbox.count == 0 && spaces.allSatisfy(\.isInSync)
    }

    /// Whether the device is in sync except for transactions that are held back until the server knows their
    /// collections and fields.
    public var waitsForNewerServer: Bool {
        outbox.held > 0 && outbox.held == outbox.count && spaces.allSatisfy(\.isInSync)
    }

    /// The later status replaces the earlier one.
    public mutating func absorb(_ later: SyncStatus) {
        self = later
    }
}

extension SessionMachine {
    package func status(now: Duration) -> SyncStatus {
        SyncStatus(
            connection: connection(now: now),
            push: push(now: now),
            spaces: pulls.map { pull in
                SyncStatus.Space(
                    space: pull.space, pull: activity(of: pull, now: now), version: pull.stored.version,
                    head: pull.head, isComplete: pull.stored.isComplete, hasCaughtUp: pull.hasCaughtUp,
                    hasAccess: pull.stored.hasAccess, historyIsInDoubt: pull.historyIsInDoubt,
                    noticesWait: pull.stored.noticesWait)
            }.sorted { $0.space < $1.space },
            outbox: outbox.summary, storeFailure: storeFailure, isPaused: isPaused)
    }

    private var isPaused: Bool {
        if case .waiting(_, let failure) = link.state, failure.asksToWait { return true }
        if case .waiting(_, .transport(let failure)) = outbox.state, failure.asksToWait { return true }
        return pulls.contains { pull in
            guard case .waiting(_, .transport(let failure)) = pull.state else { return false }
            return failure.asksToWait
        }
    }

    private var storeFailure: StoreError? {
        if case .storeFailed(_, let failure) = link.state { return failure }
        if case .waiting(_, .store(let failure)) = outbox.state { return failure }
        for pull in pulls {
            if case .waiting(_, .store(let failure)) = pull.state { return failure }
        }
        return nil
    }

    private func connection(now: Duration) -> SyncStatus.Connection {
        switch phase {
        case .notStarted: return .notRunning
        case .finished: return .stopped
        case .running, .stopping: break
        }
        return switch link.state {
        case .down(let reason): .offline(reason)
        case .awaitingHello: .connecting
        case .online: .online
        case .waiting(let timer, let failure) where failure.asksToWait:
            .paused(failure, retryIn: max(.zero, timer.due - now))
        case .waiting(let timer, let failure):
            link.isRecovering
                ? .recovering(failure, retryIn: max(.zero, timer.due - now))
                : .waiting(failure, retryIn: max(.zero, timer.due - now))
        case .storeFailed(let timer, let failure):
            .storeFailed(failure, retryIn: max(.zero, timer.due - now))
        case .refused(_, let failure): .refused(failure)
        }
    }

    private func push(now: Duration) -> SyncStatus.Activity {
        switch outbox.state {
        case .taking, .inFlight, .recording, .withdrawing, .renewing: .working
        case .waiting(let timer, let obstacle):
            waiting(for: obstacle.statusMessage, until: timer, isRecovering: outbox.isRecovering, now: now)
        case .resting: outbox.summary.hasUnanswered ? .waitingForConnection : .idle
        }
    }

    private func activity(of pull: PullMachine, now: Duration) -> SyncStatus.Activity {
        switch pull.state {
        case .resting: link.hello == nil ? .waitingForConnection : .idle
        case .pulling, .applying, .resetting, .vacating: .working
        case .waiting(let timer, let obstacle):
            waiting(for: obstacle.statusMessage, until: timer, isRecovering: pull.isRecovering, now: now)
        case .braked(_, let deletes, let total, _): .braked(deletes: deletes, of: total)
        }
    }

    private func waiting(
        for message: String, until timer: ArmedTimer, isRecovering: Bool, now: Duration
    ) -> SyncStatus.Activity {
        let delay = max(.zero, timer.due - now)
        return isRecovering ? .recovering(message, retryIn: delay) : .waiting(message, retryIn: delay)
    }
}
