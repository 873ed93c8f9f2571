/// An error of the authority's store. The store was not changed, unless the disk or the connection to the database
/// failed during the commit: the commit may then have taken effect.
public struct AuthorityStoreError: Error, Hashable, Sendable {
    /// The reason, for programs.
    public let code: Code
    /// The message: what was wrong and what was expected. It contains no value of a record and no secret. It contains a
    /// path only when the database file could not be opened, is no longer in place, or has been moved.
    public let message: String

    /// Creates an error.
    ///
    /// - Parameter message: what was wrong and what was expected, without values of records and without secrets.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The reasons. Clients learn only the kind of failure from them.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The file is not a SQLite database.
        case notADatabase
        /// A newer build has written the database.
        case newerSchema
        /// The database belongs to another program, or lacks tables of this build.
        case otherSchema
        /// The database is damaged, and must be restored.
        case corrupt
        /// The file or its folder is accessible to other users, or the database server denies access.
        case unsafePermissions
        /// The path leads to no file, or the file was moved or deleted while the server was using it.
        case missingFile
        /// There is no database, and the caller did not ask to create one.
        case noDatabase
        /// An operator has moved the data to another database, which is whole.
        case moved
        /// Another process serves this database.
        case inUse
        /// The requested durability is not in force.
        case notDurable
        /// A value cannot be stored: for example, the text of a JSON field is not JSON.
        case unstorable
        /// The file system has no room for the write.
        case diskFull
        /// The database cannot be written.
        case readOnly
        /// Another transaction holds a lock, and did not finish in time.
        case busy
        /// Reading or writing failed.
        case inputOutput
        /// The database server does not run, or the connection to it is lost.
        case unreachable
    }
}

extension AuthorityStoreError: CustomStringConvertible {
    public var description: String { message }
}

extension AuthorityError {
    /// Converts an error of the store to the error that clients receive. Its code is `unavailable`, so they try again.
    ///
    /// Clients learn only the kind of failure. The details, which may name files, are for the operator's log.
    init(storeError error: any Error) {
        let failure = error as? AuthorityStoreError ?? AuthorityStoreError(.inputOutput, "the store failed: \(error)")
        let retryAfter: Duration? = failure.code == .busy ? AuthorityLimits.busyRetry : nil
        self.init(
            .unavailable, failure.code.messageForClients, detail: failure.message, retryAfter: retryAfter,
            isStoreDamaged: failure.code == .corrupt || failure.code == .notADatabase,
            concernsAllRequests: failure.code.concernsAllRequests)
    }
}

extension AuthorityStoreError.Code {
    /// Whether every other request would fail now, too. Otherwise, the values or the rows of one request may be the
    /// cause.
    fileprivate var concernsAllRequests: Bool {
        switch self {
        case .unstorable, .corrupt, .inputOutput: false
        case .notADatabase, .newerSchema, .otherSchema, .unsafePermissions, .missingFile, .noDatabase, .moved, .inUse,
            .notDurable, .diskFull, .readOnly, .busy, .unreachable:
            true
        }
    }
}

extension AuthorityStoreError.Code {
    fileprivate var messageForClients: String {
        switch self {
        case .corrupt, .notADatabase: "the server's database is damaged; its operator must restore it"
        case .missingFile, .noDatabase, .moved:
            "the server's database was moved or deleted; its operator must restart the server"
        case .newerSchema, .otherSchema:
            "the server's database does not fit its build, or is being restored; its operator must read the server's log"
        case .diskFull: "the server's disk is full"
        case .readOnly: "the server cannot write to its database"
        case .unsafePermissions: "the server may not use its database; its operator must correct the permissions"
        case .busy, .inUse: "the server's database is busy"
        case .notDurable, .inputOutput: "the server's disk failed"
        case .unreachable: "the server has no connection to its database"
        case .unstorable: "the server's store cannot store a value of this request"
        }
    }
}
