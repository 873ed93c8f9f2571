import LoopbackPage
import SyncCore
import SyncModel
import SyncObjects
import SyncProgram

/// The failure of a command: one line about the problem, one line of advice (nil for none), and an exit status.
struct CommandError: Error {
    let status: CommandExitStatus
    let message: String
    let advice: String?
    /// The field whose value is at fault; nil if no field is, or if the message alone tells.
    let field: FieldName?

    init(_ status: CommandExitStatus, _ message: String, advice: String? = nil, field: FieldName? = nil) {
        self.status = status
        self.message = message
        self.advice = advice
        self.field = field
    }
}

extension CommandError {
    init(_ failure: StoreError) {
        let status: CommandExitStatus =
            switch (failure.advice, failure.code) {
            // A limit of this program refuses the write, and the machine is in order.
            case (_, .outboxFull), (_, .journalFull), (_, .databaseFull): .failed
            // A response of the server contradicts itself or the database, and nothing of it was stored.
            case (_, .contradiction): .notSynced
            case (.changeTheRequest, _): .failed
            case (.makeRoom, _), (.tryAgain, _): .machine
            case (.fixTheFolder, _), (.useTheRightBuild, _), (.report, _): .noStore
            }
        let advice: String? =
            switch failure.code {
            case .missingFile: "create it with syncctl init, or give its folder with --store"
            case .outboxFull: "syncctl sync empties the outbox"
            case .journalFull: "read it with syncctl journal, then restore or dismiss entries"
            case .diskFull:
                "free space on the disk of the database, or raise the limit that the message names, then run the command again"
            case .databaseFull: "raise store.database-bytes, if the space is as large as that; your changes are safe"
            case .busy: "wait until the other program has ended, then run the command again"
            case .newerSchema: "use the newest program that has opened this database"
            case .otherSchema: "use the program that made this database"
            case .notADatabase, .corrupt:
                "syncctl doctor --fix keeps the damaged file, and creates a new database from its readable part"
            case .contradiction:
                "run syncctl sync again, and report this to the server's operator if it happens again; \(Self.safe)"
            case .unsafePermissions:
                "use your own folder with permissions 700 that contains a plain file without links"
            case .readOnly: "check the owner and the permissions of the folder and of the file"
            case .inputOutput: "check the disk, then run the command again"
            case .otherAccount: "use the token of the account that the database belongs to, or another --store"
            case .tooLarge: "write fewer or smaller values in one transaction"
            case .missingEntry: "syncctl outbox list and syncctl journal list --all show all entries"
            case .danglingReference:
                "first restore the missing record from the journal, or refer to another record"
            case .unsentWrites: "syncctl outbox and syncctl journal show them"
            case .unknownCollection, .invalidValue, .missingRecord, .duplicateRecord, .stillReferenced, .entryIsFrozen,
                .incompatibleModels:
                nil
            }
        self.init(status, failure.message, advice: advice)
    }

    init(_ failure: TransportError) {
        switch failure.code {
        case .unauthorized, .forbidden, .otherAccount:
            self.init(.refused, failure.message, advice: "check server.token-file (syncctl config show)")
        case .incompatible:
            self.init(.refused, failure.message, advice: "update the older of server and client")
        case .refused:
            self.init(
                .refused, failure.message,
                advice: "check the path in server.url, or update the older of server and client")
        case .unreachable:
            self.init(
                .notSynced, failure.message,
                advice: "check server.url (syncctl config show), and that the server is running; \(Self.safe)")
        case .timedOut, .throttled, .serverFailed:
            let pause = failure.retryAfter.map { min($0, SyncPolicy().backoff.longestRetryAfter) } ?? .zero
            let time = pause > .zero ? "in \(pause.shortText)" : "later"
            self.init(.notSynced, failure.message, advice: "run syncctl sync again \(time); \(Self.safe)")
        case .notUnderstood:
            self.init(
                .notSynced, failure.message,
                advice:
                    "check that server.url is that of a sync server with these models, and that the network does not require a sign-in; \(Self.safe)"
            )
        case .tooLarge:
            self.init(.notSynced, failure.message, advice: "lower sync.batch-bytes; \(Self.safe)")
        case .cancelled:
            self.init(.notSynced, "interrupted", advice: Self.safe)
        }
    }

    /// The reassurance that a failed sync loses nothing.
    static let safe = "your changes are safe in the outbox"

    init(_ problem: ConfigurationError) {
        self.init(.configuration, problem.message, advice: problem.advice)
    }

    init(_ failure: PageServerError) {
        self.init(failure.code == .systemFailed ? .machine : .failed, failure.message, advice: failure.advice)
    }

    /// Converts any error, including unexpected ones.
    init(wrapping error: any Error) {
        switch error {
        case let failure as CommandError: self = failure
        case let failure as StoreError: self.init(failure)
        case let failure as TransportError: self.init(failure)
        case let problem as ConfigurationError: self.init(problem)
        case let failure as PageServerError: self.init(failure)
        case let problem as LimitTooLow: self.init(.machine, problem.description, advice: problem.advice)
        case let failure as ModelError: self.init(.failed, failure.message)
        case is CancellationError: self.init(.failed, "interrupted")
        default:
            self.init(.failed, "an unexpected error: \(error)", advice: "report this with the command that you ran")
        }
    }
}
