/// An error of the authority's store. The store was not changed.
public struct AuthorityStoreFailure: Error, Hashable, Sendable {
    public let code: Code
    /// The message: what was wrong and what was expected. It contains no value of a record and no secret. It contains a
    /// path only when the database file could not be opened or is no longer in place.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public enum Code: String, Hashable, Sendable, CaseIterable {
        // The database cannot be used in its current state.
        case notADatabase, newerSchema, otherSchema, corrupt, unsafePermissions, missingFile
        /// There is no database, and the caller did not ask to create one.
        case noDatabase
        /// Another process serves this database.
        case inUse
        /// The requested durability is not in force.
        case notDurable
        /// A value cannot be stored: for example, the text of a JSON field is not JSON.
        case unstorable

        // The cause lies in the machine, and may be temporary.
        case diskFull, readOnly, busy, inputOutput
    }
}

extension AuthorityStoreFailure: CustomStringConvertible {
    public var description: String { message }
}

extension AuthorityFailure {
    /// Converts a failure of the store to the failure that clients see: nothing happened, and they may try again.
    init(_ failure: AuthorityStoreFailure) {
        let retryAfter: Duration? = failure.code == .busy ? AuthorityLimits.busyRetry : nil
        self.init(.unavailable, "the server's store cannot be used: \(failure.message)", retryAfter: retryAfter)
    }
}
