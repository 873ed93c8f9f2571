import SyncCore
import SyncModel
import SyncProgram

/// How a run of the engine ended, for the person who asked for it.
enum SyncEnding: Sendable {
    case inSync
    /// Everything is in sync, but for what is held back until the server knows its collections and fields.
    case held
    /// The outbox is empty by the work of another process, when its number is known. What that process has fetched so far
    /// is not known here.
    case sentByOther(Int32?)
    case failed(TransportFailure)
    case offline(String)
    /// The local database fails: the disk is full, or the file was replaced.
    case storeFailed(StoreFailure)
    /// Something else is in the way; the words say what.
    case blocked(String)
    case braked(deletes: Int, of: Int)
    case syncedElsewhere(Int32?)
    /// A watch that was asked to stop.
    case stopped
    /// A single sync that was told to stop before its end.
    case interrupted
}

/// Reads the engine's status until there is something to tell: a value, fed one status after the other.
struct SyncFollower: Sendable {
    let isWatching: Bool
    /// How long failures are waited out.
    let patience: Duration
    let terminal: Terminal
    /// Agrees to what the mass-delete brake holds back in a space; nil where nobody has agreed. The engine takes note
    /// only while the brake holds, so it is called when a status says so.
    private let allowDeletes: (@Sendable (SpaceID) -> Void)?
    private var shown: TerminalText = ""

    init(
        isWatching: Bool, patience: Duration, terminal: Terminal,
        allowDeletes: (@Sendable (SpaceID) -> Void)? = nil
    ) {
        self.isWatching = isWatching
        self.patience = patience
        self.terminal = terminal
        self.allowDeletes = allowDeletes
    }

    /// The ending, or nil to go on.
    mutating func follow(_ status: SyncStatus, _ progress: Progress) -> SyncEnding? {
        if let allowDeletes {
            for space in status.spaces { if case .braked = space.pull { allowDeletes(space.space) } }
        }
        if let failure = status.storeFailure, failure.isPermanent { return .storeFailed(failure) }
        if isWatching {
            tell(status)
            return nil
        }
        progress.show(StatusText.progress(status))
        let isPatient = progress.elapsed < patience
        if let failure = status.storeFailure, !isPatient { return .storeFailed(failure) }
        switch status.connection {
        case .notRunning, .connecting: return nil
        case .stopped: return .interrupted
        case .offline(let reason): return isPatient ? nil : .offline(reason)
        case .refused(let failure): return .failed(failure)
        case .waiting(let failure, _): return isPatient ? nil : .failed(failure)
        case .online: break
        }
        if !status.spaces.isEmpty, status.isInSync { return .inSync }
        if !status.spaces.isEmpty, status.waitsForNewerServer { return .held }
        if case .waiting(let reason, _) = status.push, !isPatient { return .blocked(reason) }
        for space in status.spaces {
            switch space.pull {
            case .braked(let deletes, let total):
                guard allowDeletes != nil else { return .braked(deletes: deletes, of: total) }
            case .waiting(let reason, _) where !isPatient: return .blocked(reason)
            case .idle, .working, .held, .waiting: break
            }
        }
        return isPatient ? nil : standstill(of: status)
    }

    /// Returns the obstacle when the engine has nothing to do before its next poll, and is not in sync.
    private func standstill(of status: SyncStatus) -> SyncEnding? {
        guard !status.spaces.isEmpty, status.push == .idle,
            status.spaces.allSatisfy({ $0.pull == .idle && $0.hasCaughtUp })
        else { return nil }
        return .blocked(
            "the server has confirmed \(status.outbox.count) transactions and does not show them yet; they stay in the outbox"
        )
    }

    /// A line whenever there is something new to say.
    private mutating func tell(_ status: SyncStatus) {
        let line: TerminalText =
            terminal.isJSON ? TerminalText(json: StatusText.line(status).text) : "\(StatusText.sentence(status))"
        guard line != shown else { return }
        shown = line
        terminal.say(line)
    }
}

extension StoreFailure {
    /// Whether trying again cannot help a program that has the database open.
    fileprivate var isPermanent: Bool {
        switch advice {
        case .makeRoom, .tryAgain: false
        case .changeTheRequest, .fixTheFolder, .useTheRightBuild, .report: true
        }
    }
}
