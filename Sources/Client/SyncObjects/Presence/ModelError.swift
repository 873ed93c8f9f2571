public import SyncCore
public import SyncModel
public import TomboloModeling

/// The reason why an object could not do what was requested.
public struct ModelError: Error, Hashable, Sendable {
    /// The kind of failure, for code that handles it.
    public let code: Code
    /// States what was wrong, where, and what was expected.
    public let message: String
    /// The underlying failure; nil if there is none.
    public let cause: Cause?

    /// Creates an error.
    public init(_ code: Code, _ message: String, cause: Cause? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    /// The kind of failure.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A value breaks a rule of the model, or cannot be stored.
        case invalidValue
        /// The declaration of the model has an error, or the model is not in the client's list.
        case invalidModel
        /// The object cannot be found.
        case notHere
        /// The object was deleted, or its creation was rejected.
        case gone
        /// `create` was called on an object that already exists.
        case alreadyExists
        /// Somebody has decided about the entry of the journal already, in this process or another one. Nothing was
        /// written.
        case alreadyDecided
        /// The server rejected the transaction. It is in the journal, if there is one.
        case rejected
        /// The user cancelled the transaction before it was sent.
        case takenBack
        /// The client has no server that could confirm a write, or it has no journal.
        case noServer
        /// A wait has ended before everything was in sync. Writes stay, and are sent later.
        case notInSync
        /// The caller stopped waiting, or the outcome of the write can no longer be found out. The write may still take
        /// effect.
        case interrupted
        /// The server has more records of the collection than a client without a store can hold.
        case tooMuch
        /// The space has data that only this device holds, such as unsent writes.
        case unsentWrites
        /// The local store failed.
        case store
        /// The request to the server failed, or the response was not usable.
        case transport
    }

    /// The underlying failure, by the part in which it occurred.
    public enum Cause: Hashable, Sendable {
        /// A value breaks a rule.
        case value(InvalidValueError)
        /// The local store failed.
        case store(StoreError)
        /// The request to the server failed.
        case transport(TransportError)
        /// The server rejected the transaction.
        case rejection(Rejection)
        /// The declaration of a model has an error.
        case declaration(ModelDeclarationError)
    }
}

extension ModelError: CustomStringConvertible {
    public var description: String { message }
}

extension ModelError {
    /// Wraps an error in the declaration of a model, or in a value of a query.
    public init(_ error: ModelDeclarationError) {
        let code: Code = error.code == .invalidValue ? .invalidValue : .invalidModel
        self.init(code, error.message, cause: .declaration(error))
    }

    /// Wraps a failure of the local store.
    public init(_ failure: StoreError) {
        let code: Code =
            switch failure.code {
            case .invalidValue, .danglingReference, .stillReferenced, .tooLarge, .unknownCollection: .invalidValue
            case .missingRecord: .notHere
            case .duplicateRecord: .alreadyExists
            case .unsentWrites: .unsentWrites
            case .outboxFull, .journalFull, .missingEntry, .entryIsFrozen, .otherAccount, .notADatabase, .newerSchema,
                .otherSchema, .incompatibleModels, .corrupt, .contradiction,
                .unsafePermissions, .missingFile, .diskFull, .databaseFull, .readOnly, .busy, .inputOutput:
                .store
            }
        self.init(code, failure.message, cause: .store(failure))
    }

    /// Wraps a failure of the local store in a decision about an entry of the journal.
    ///
    /// A missing entry was decided: the journal deletes no others, except with the space that they are about.
    init(decidingAbout entry: Int64, _ failure: StoreError) {
        switch failure.code {
        case .entryIsFrozen: self.init(.alreadyDecided, failure.message, cause: .store(failure))
        case .missingEntry:
            self.init(
                .alreadyDecided,
                "entry \(entry) is no longer in the journal, so nothing was written: somebody has decided about it, or unfollowed its space",
                cause: .store(failure))
        default: self.init(failure)
        }
    }

    static let noJournal = ModelError(
        .noServer, "this client has no journal, and so no entries to restore, correct, or dismiss")

    /// Wraps a failure of the transport to the server.
    public init(_ failure: TransportError) {
        self.init(failure.code == .cancelled ? .interrupted : .transport, failure.message, cause: .transport(failure))
    }

    /// Wraps the rule that a value breaks.
    public init(_ problem: InvalidValueError) {
        self.init(.invalidValue, problem.description, cause: .value(problem))
    }

    /// Wraps a rejection of the server.
    public init(_ rejection: Rejection) {
        self.init(
            .rejected, "the server rejected the transaction (\(rejection.code)): \(rejection.message)",
            cause: .rejection(rejection))
    }
}
