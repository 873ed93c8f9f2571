import SyncCore
import SyncModel
import SyncProgram

/// The way a sync ended, by this process or another.
enum SyncEnding: Sendable {
    case inSync
    /// Everything is in sync, except for transactions held back until the server knows their collections and fields.
    case held
    /// Another process has sent the outbox, and has downloaded what the server had. The value is its process id, if
    /// known.
    case syncedByOther(Int32?)
    case failed(TransportError)
    case offline(String)
    /// The local database failed: the disk is full, or the file was replaced.
    case storeFailed(StoreError)
    /// Something else prevents the sync. The text describes the reason.
    case blocked(String)
    /// The mass-delete brake holds back deletions in these spaces.
    case braked([HeldDeletes])
    /// The mass-delete brake stopped another process, which recorded this message.
    case brakedElsewhere(Int32?, String)
    /// Another process is syncing, and has not finished in time. `lack` describes what is left; nil if that is not
    /// known.
    case syncedElsewhere(Int32?, lack: String?)
    /// A `--watch` run was asked to stop, and nothing prevented its sync.
    case stopped
    /// A single sync was stopped before its end.
    case interrupted

    /// The failure to record for later commands; nil if it was no failure, or the engine has recorded it already.
    var failure: (code: String, message: String)? {
        switch self {
        // The engine has recorded this failure, together with the pause.
        case .failed(let failure) where failure.asksForPause || failure.code == .cancelled: nil
        case .failed(let failure): (failure.code.rawValue, failure.message)
        case .storeFailed(let failure): (failure.contactCode, failure.message)
        case .offline(let reason): ("offline", "this device is offline: \(reason)")
        case .blocked(let reason): ("blocked", reason)
        case .inSync, .held, .syncedByOther, .braked, .brakedElsewhere, .syncedElsewhere, .stopped, .interrupted: nil
        }
    }
}

/// The deletions in a space that the mass-delete brake holds back.
struct HeldDeletes: Hashable, Sendable {
    let space: SpaceID
    /// The number of records to delete.
    let deletes: Int
    /// The number of records of the space on this device.
    let total: Int
}

extension SyncEnding {
    /// Creates the ending of a sync that has reached its time limit.
    init(at status: SyncStatus?, after timeout: Duration) {
        if let failure = status?.storeFailure {
            self = .storeFailed(failure)
        } else if let status, let obstacle = status.activities.compactMap(\.obstacle).first {
            self = .blocked(obstacle)
        } else if let status, case .online = status.connection {
            self = .blocked("the sync has not ended in \(DurationText(timeout)): \(StatusText.progress(status))")
        } else {
            self = .failed(
                TransportError(.timedOut, "the server has not responded for \(DurationText(timeout))"))
        }
    }
}

/// Decides from the engine's successive statuses when a sync has ended, and how.
struct SyncFollower: Sendable {
    let isWatching: Bool
    /// The time during which the engine may retry after a failure. After it, a failure ends the sync.
    let timeout: Duration
    let terminal: Terminal
    /// Releases the mass-delete brake of a space; nil unless the user allows it.
    ///
    /// The engine accepts the call only while the brake holds, so it is made when a status shows the brake.
    private let allowDeletes: (@Sendable (SpaceID) -> Void)?
    private var shown: TerminalText = ""
    /// The last obstacle of a `--watch` run; nil if it has been in sync since.
    private var obstacle: SyncEnding?

    init(
        isWatching: Bool, timeout: Duration, terminal: Terminal,
        allowDeletes: (@Sendable (SpaceID) -> Void)? = nil
    ) {
        self.isWatching = isWatching
        self.timeout = timeout
        self.terminal = terminal
        self.allowDeletes = allowDeletes
    }

    /// Returns the ending of the sync; nil to continue.
    mutating func follow(_ status: SyncStatus, _ progress: Progress) -> SyncEnding? {
        if let allowDeletes {
            for space in status.spaces { if case .braked = space.pull { allowDeletes(space.space) } }
        }
        if let failure = status.storeFailure, failure.isPermanent, !status.isBusy { return .storeFailed(failure) }
        if isWatching {
            print(status)
            noteObstacle(in: status)
            return nil
        }
        progress.show(StatusText.progress(status))
        return ending(at: status, isPatient: progress.elapsed < timeout)
    }

    /// The ending of a run that was asked to stop.
    var endingOfStop: SyncEnding { isWatching ? obstacle ?? .stopped : .interrupted }

    /// Remembers what prevents a `--watch` run from being in sync.
    mutating func noteObstacle(in status: SyncStatus) {
        // The status of an engine that has stopped no longer shows what prevented the sync.
        if case .stopped = status.connection { return }
        switch ending(at: status, isPatient: false) {
        case nil: break
        case .inSync: obstacle = nil
        case let ending: obstacle = ending
        }
    }

    /// Returns the ending of a sync with this status; nil to continue.
    ///
    /// - Parameter isPatient: whether to wait for the engine to retry after a failure.
    private func ending(at status: SyncStatus, isPatient: Bool) -> SyncEnding? {
        // An obstacle of one part ends the sync only when the others have done what they can.
        let isOver = !isPatient && (isWatching || !status.isBusy)
        if let failure = status.storeFailure, isOver { return .storeFailed(failure) }
        switch status.connection {
        case .notRunning, .connecting, .recovering, .storeFailed: return nil
        case .stopped: return .interrupted
        case .offline(let reason): return isPatient ? nil : .offline(reason)
        case .refused(let failure): return .failed(failure)
        case .waiting(let failure, _), .paused(let failure, _): return isPatient ? nil : .failed(failure)
        case .online: break
        }
        if !status.spaces.isEmpty, status.isInSync { return .inSync }
        if !status.spaces.isEmpty, status.waitsForNewerServer { return .held }
        if let brake = brake(in: status, isPatient: isPatient) { return brake }
        guard isOver else { return nil }
        for activity in status.activities {
            if case .waiting(let reason, _) = activity { return .blocked(reason) }
        }
        return standstill(of: status)
    }

    /// Returns the ending if the mass-delete brake holds a space and everything else has been tried; otherwise nil.
    private func brake(in status: SyncStatus, isPatient: Bool) -> SyncEnding? {
        guard allowDeletes == nil else { return nil }
        let held = status.spaces.compactMap { space -> HeldDeletes? in
            guard case .braked(let deletes, let total) = space.pull else { return nil }
            return HeldDeletes(space: space.space, deletes: deletes, total: total)
        }
        guard !held.isEmpty else { return nil }
        let retries = status.activities.contains { if case .waiting = $0 { true } else { false } }
        let isBusy = status.isBusy || isPatient && retries
        let isOver = timeout > .zero && !isPatient
        return isWatching || isOver || !isBusy ? .braked(held) : nil
    }

    /// Returns the obstacle when the engine has nothing to do before its next poll and is not in sync; otherwise nil.
    private func standstill(of status: SyncStatus) -> SyncEnding? {
        guard !status.spaces.isEmpty, status.push == .idle,
            status.spaces.allSatisfy({ $0.pull == .idle && $0.hasCaughtUp })
        else { return nil }
        let count = status.outbox.count
        guard count > 0 else { return status.spaces.first { !$0.isInSync }.map { .blocked(Self.lack(of: $0)) } }
        return .blocked(
            "the server has confirmed \(count == 1 ? "1 transaction" : "\(count) transactions") and does not show \(count == 1 ? "it" : "them") yet; the outbox keeps \(count == 1 ? "it" : "them")"
        )
    }

    /// Describes the part of a space that the server has announced but does not send.
    private static func lack(of space: SyncStatus.Space) -> String {
        guard space.version < space.head else { return "the server does not show all of space \(space.space)" }
        return
            "the server says that space \(space.space) is at version \(space.head), but sends nothing after version \(space.version)"
    }

    /// Prints the status if its text has changed.
    private mutating func print(_ status: SyncStatus) {
        let line: TerminalText =
            terminal.isJSON ? TerminalText(json: StatusText.line(status).text) : "\(StatusText.sentence(status))"
        guard line != shown else { return }
        shown = line
        terminal.say(line)
    }
}

extension SyncStatus {
    /// Whether a part of the engine is doing something, or about to repeat it.
    fileprivate var isBusy: Bool {
        guard case .online = connection else { return false }
        return activities.contains { activity in
            switch activity {
            case .working, .recovering: true
            case .idle, .waiting, .waitingForConnection, .braked: false
            }
        }
    }

    /// The activities of all parts of the engine.
    fileprivate var activities: [Activity] { [push] + spaces.map(\.pull) }
}

extension StoreError {
    /// Whether retrying cannot help while the program has the database open.
    fileprivate var isPermanent: Bool {
        switch advice {
        case .makeRoom, .tryAgain: false
        case .changeTheRequest, .fixTheFolder, .useTheRightBuild, .report: true
        }
    }
}
