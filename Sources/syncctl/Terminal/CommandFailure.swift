import Models
import SyncBootstrap
import SyncCore

/// Why a command did not do what it was asked: one line what was wrong, one line what to do, one exit status.
struct CommandFailure: Error {
    let status: CommandStatus
    let message: String
    let advice: String?

    init(_ status: CommandStatus, _ message: String, advice: String? = nil) {
        self.status = status
        self.message = message
        self.advice = advice
    }
}

extension CommandFailure {
    init(_ failure: StoreFailure) {
        let status: CommandStatus =
            switch failure.advice {
            case .changeTheRequest: .failed
            case .makeRoom, .tryAgain: .machine
            case .mendTheFolder, .useTheRightBuild, .report: .noStore
            }
        let advice: String? =
            switch failure.code {
            case .missingFile: "syncctl init makes a database"
            case .outboxFull: "syncctl sync empties the outbox"
            case .journalFull: "read it with syncctl journal, then resend or dismiss entries"
            case .diskFull: "make room on the disk, then try again"
            case .busy: "another program is using the database; try again"
            case .newerSchema, .otherSchema: "use the program that made this database"
            case .notADatabase: "check store.folder (syncctl config show)"
            case .contradiction:
                "the next sync takes a fresh copy of what the server has; report this if it happens again"
            case .corrupt: "keep the file, and report this"
            case .unsafePermissions: "chmod 700 the folder, and make yourself its owner"
            case .readOnly: "check the owner and the permissions of the folder"
            case .unknownCollection, .invalidValue, .missingRecord, .duplicateRecord, .danglingReference,
                .stillReferenced, .tooLarge, .missingEntry, .entryIsFrozen, .otherAccount, .inputOutput:
                nil
            }
        self.init(status, failure.message, advice: advice)
    }

    init(_ failure: TransportFailure) {
        switch failure.code {
        case .unauthorized, .forbidden, .otherAccount:
            self.init(.refused, failure.message, advice: "check server.token-file (syncctl config show)")
        case .incompatible, .refused:
            self.init(.refused, failure.message, advice: "update the older of server and client")
        case .unreachable, .timedOut, .tooLarge, .throttled, .serverFailed, .notUnderstood, .cancelled:
            self.init(.notSynced, failure.message, advice: "what was written is safe in the outbox; try again later")
        }
    }

    init(_ problem: ConfigurationProblem) {
        self.init(.configuration, problem.message, advice: problem.advice)
    }

    /// Any error as a failure: those that nobody foresaw too.
    init(wrapping error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let failure as StoreFailure: self.init(failure)
        case let failure as TransportFailure: self.init(failure)
        case let problem as ConfigurationProblem: self.init(problem)
        case let failure as ModelFailure: self.init(.failed, failure.message)
        case is CancellationError: self.init(.failed, "interrupted")
        default: self.init(.failed, "\(error)")
        }
    }
}
