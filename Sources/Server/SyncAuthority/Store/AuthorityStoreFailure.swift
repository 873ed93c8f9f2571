/// Why the authority's store did not do what it was asked. Nothing was changed.
public struct AuthorityStoreFailure: Error, Hashable, Sendable {
    public let code: Code
    /// Says what was wrong and what was expected. Holds no value of a record and no secret; a path only when a database
    /// could not be opened.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public enum Code: String, Hashable, Sendable, CaseIterable {
        // The database cannot be used as it is.
        case notADatabase, newerSchema, otherSchema, corrupt, unsafePermissions, missingFile
        /// There is no database, and none was to be made.
        case noDatabase
        /// Another process serves this database.
        case inUse
        /// The database does not keep what it promises: the durability that was asked for is not in force.
        case notDurable
        /// A value has no stored form: the text of a JSON field is no JSON.
        case unstorable

        // The machine is in the way, perhaps not for long.
        case diskFull, readOnly, busy, inputOutput
    }
}

extension AuthorityStoreFailure: CustomStringConvertible {
    public var description: String { message }
}

extension AuthorityFailure {
    /// The store's failure, as those who ask are told of it: nothing happened, and it may be asked again.
    init(_ failure: AuthorityStoreFailure) {
        let retryAfter: Duration? = failure.code == .busy ? AuthorityLimits.busyRetry : nil
        self.init(.unavailable, "the server's store cannot be used: \(failure.message)", retryAfter: retryAfter)
    }
}
