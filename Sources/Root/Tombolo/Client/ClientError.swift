import SyncBootstrap
import SyncCore
import SyncProgram
import TomboloModeling

/// The reason why a client could not be opened. No record is changed then, but the database may have been created.
public struct ClientError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure, for code that handles it.
    public let code: Code
    /// States what is wrong, and what was expected. Contains no secret.
    public let message: String
    /// The remedy; nil if the message alone suffices.
    public let advice: String?

    /// The kind of failure.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A setting is wrong or missing.
        case configuration
        /// The declaration of a model has an error, or does not fit the records of the database.
        case model
        /// The database cannot be opened, or it belongs to another application or a newer build.
        case store
    }

    init(_ code: Code, _ message: String, advice: String? = nil) {
        self.code = code
        self.message = message
        self.advice = advice
    }

    init(_ problem: ConfigurationError) {
        self.init(.configuration, problem.message, advice: problem.advice)
    }

    init(_ error: ModelDeclarationError) {
        self.init(.model, error.message)
    }

    init(_ failure: StoreError) {
        let advice: String? =
            switch failure.code {
            case .newerSchema: "use the newer build of the application, or another folder for this one"
            case .otherSchema, .notADatabase: "give each application its own name or folder"
            case .corrupt:
                "syncctl doctor --fix keeps the damaged file, and creates a new database from its readable part"
            case .diskFull: "free space on the disk, or raise the limit that the message names"
            case .databaseFull: "raise store.database-bytes"
            case .busy: "wait until the other program has opened the database"
            default: nil
            }
        self.init(failure.code == .incompatibleModels ? .model : .store, failure.message, advice: advice)
    }

    public var description: String { advice.map { "\(message); \($0)" } ?? message }
}
