public import SyncCore
public import SyncModel

/// Why an object did not do what it was asked.
public struct ModelFailure: Error, Hashable, Sendable {
    public let code: Code
    /// Says what was wrong, where, and what was expected.
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
        /// There is no such object in reach.
        case notHere
        /// There was one, and it does not come back.
        case gone
        /// `create` of something that exists.
        case alreadyExists
        /// The server refused the transaction; it is in the journal where there is one.
        case rejected
        /// The user took the transaction back before it was sent.
        case takenBack
        /// This composition has no server that could confirm anything.
        case noServer
        /// The caller stopped waiting; what was written goes on.
        case interrupted
        /// Too much was asked for at once.
        case tooMuch
        /// The local store failed.
        case store
        /// The server brought no usable answer.
        case transport
    }

    public enum Cause: Hashable, Sendable {
        case value(InvalidValue)
        case store(StoreFailure)
        case transport(TransportFailure)
        case rejection(Rejection)
    }
}

extension ModelFailure: CustomStringConvertible {
    public var description: String { message }
}

extension ModelFailure {
    public init(_ failure: StoreFailure) {
        let code: Code =
            switch failure.code {
            case .invalidValue, .danglingReference, .stillReferenced, .tooLarge, .unknownCollection: .invalidValue
            case .missingRecord: .notHere
            case .duplicateRecord: .alreadyExists
            case .outboxFull, .journalFull, .missingEntry, .entryIsFrozen, .otherAccount, .notADatabase, .newerSchema,
                .otherSchema, .corrupt, .contradiction,
                .unsafePermissions, .missingFile, .diskFull, .readOnly, .busy, .inputOutput:
                .store
            }
        self.init(code, failure.message, cause: .store(failure))
    }

    public init(_ failure: TransportFailure) {
        self.init(failure.code == .cancelled ? .interrupted : .transport, failure.message, cause: .transport(failure))
    }

    public init(_ problem: InvalidValue) {
        self.init(.invalidValue, problem.description, cause: .value(problem))
    }

    public init(_ rejection: Rejection) {
        self.init(
            .rejected, "the server refused it (\(rejection.code)): \(rejection.message)", cause: .rejection(rejection))
    }
}
