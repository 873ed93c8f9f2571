public import SyncCore
public import SyncModel
public import TomboloModeling

/// The reason why an object could not do what was requested.
public struct ModelError: Error, Hashable, Sendable {
    public let code: Code
    /// States what was wrong, where, and what was expected.
    public let message: String
    public let cause: Cause?

    public init(_ code: Code, _ message: String, cause: Cause? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// A value breaks a rule of the model.
        case invalidValue
        /// The declaration of the model has an error, or the model is not in the client's list.
        case invalidModel
        /// The object cannot be found.
        case notHere
        /// The object has been deleted and does not come back.
        case gone
        /// `create` was called on an object that already exists.
        case alreadyExists
        /// The server rejected the transaction. It is in the journal, if there is one.
        case rejected
        /// The user cancelled the transaction before it was sent.
        case takenBack
        /// There is no server in this configuration that could confirm anything.
        case noServer
        /// The caller stopped waiting. Writes are not affected.
        case interrupted
        /// The request asks for too much at once.
        case tooMuch
        /// Only this device has something of the space, such as unsent writes.
        case unsentWrites
        /// The local store failed.
        case store
        /// The server returned no usable response.
        case transport
    }

    public enum Cause: Hashable, Sendable {
        case value(InvalidValueError)
        case store(StoreError)
        case transport(TransportError)
        case rejection(Rejection)
        case declaration(ModelDeclarationError)
    }
}

extension ModelError: CustomStringConvertible {
    public var description: String { message }
}

extension ModelError {
    public init(_ error: ModelDeclarationError) {
        self.init(.invalidModel, error.message, cause: .declaration(error))
    }

    public init(_ failure: StoreError) {
        let code: Code =
            switch failure.code {
            case .invalidValue, .danglingReference, .stillReferenced, .tooLarge, .unknownCollection: .invalidValue
            case .missingRecord: .notHere
            case .duplicateRecord: .alreadyExists
            case .unsentWrites: .unsentWrites
            case .outboxFull, .journalFull, .missingEntry, .entryIsFrozen, .otherAccount, .notADatabase, .newerSchema,
                .otherSchema, .corrupt, .contradiction,
                .unsafePermissions, .missingFile, .diskFull, .readOnly, .busy, .inputOutput:
                .store
            }
        self.init(code, failure.message, cause: .store(failure))
    }

    public init(_ failure: TransportError) {
        self.init(failure.code == .cancelled ? .interrupted : .transport, failure.message, cause: .transport(failure))
    }

    public init(_ problem: InvalidValueError) {
        self.init(.invalidValue, problem.description, cause: .value(problem))
    }

    public init(_ rejection: Rejection) {
        self.init(
            .rejected, "the server refused it (\(rejection.code)): \(rejection.message)", cause: .rejection(rejection))
    }
}
