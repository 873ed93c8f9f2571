/// The reason why a local store could not do what was requested. Nothing was changed, because every call is all or
/// nothing.
public struct StoreError: Error, Hashable, Sendable {
    /// The reason, for programs.
    public let code: Code
    /// States what was wrong, where, and what was expected. Contains no value of a record and no secret.
    public let message: String

    /// Creates an error.
    ///
    /// - Parameter message: The fault, its place, and the expectation, as a sentence without values of records and
    ///   without secrets.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The reasons. `ServerContact.Failure.code` keeps the raw value, with a prefix except for `contradiction`.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        // The request cannot be carried out.
        /// The catalog has no such collection.
        case unknownCollection
        /// A value or a query does not fit the schema.
        case invalidValue
        /// The record to change is not on this device, or is in another space.
        case missingRecord
        /// The id of a new record is in use, or belonged to a deleted record.
        case duplicateRecord
        /// A reference names a record that is not on this device, or is in another space.
        case danglingReference
        /// Another record requires the record that is to be deleted.
        case stillReferenced
        /// The transaction exceeds a limit of `SchemaLimits`.
        case tooLarge
        /// The outbox has reached its limit. Sync or discard something before writing more.
        case outboxFull
        /// The journal holds as many active entries as it may. Restore or dismiss some before writing more.
        case journalFull
        /// The outbox or the journal has no such entry.
        case missingEntry
        /// The transaction has been sent and cannot be cancelled, or somebody has decided about the journal entry
        /// already.
        case entryIsFrozen
        /// The space holds writes that only this device has.
        case unsentWrites

        /// The database belongs to another account.
        case otherAccount

        // The file cannot be used.
        /// The file is empty, or is not a SQLite database.
        case notADatabase
        /// A newer build has changed the tables or the models of the database.
        case newerSchema
        /// The database belongs to another program.
        case otherSchema
        /// The models of this build do not fit those with which the records of the database were written.
        case incompatibleModels
        /// The file is damaged. A salvage saves everything that can be read.
        case corrupt
        /// The file or its folder is accessible to other users, or the file has several names.
        case unsafePermissions
        /// The file or its folder does not exist, and the caller did not ask to create it.
        case missingFile

        /// The server contradicts itself or what it has shown before. The database file is intact.
        case contradiction

        /// The database has reached the limit of its size. Nothing more is downloaded.
        case databaseFull

        // The operating system or another process prevents it, perhaps temporarily.
        /// The file system has no room for the write.
        case diskFull
        /// The file or the file system cannot be written.
        case readOnly
        /// Another process is using the database, and did not finish in time.
        case busy
        /// Reading or writing failed, or the store has been closed.
        case inputOutput
    }
}

extension StoreError {
    /// Calls a closure that throws store errors only, and throws its error with its type. Any other error becomes
    /// `inputOutput`.
    ///
    /// Swift infers `any Error` for a closure without an explicit signature.
    package static func typed<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
        do {
            return try body()
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.inputOutput, "the store failed: \(error)")
        }
    }
}

extension StoreError {
    /// The code of this error in `ContactChange.failed`.
    ///
    /// A contradiction is a fault of the server, and has the same code wherever it was found.
    package var contactCode: String {
        code == .contradiction
            ? ServerContact.Failure.contradiction : ServerContact.Failure.storePrefix + code.rawValue
    }

    /// The message as the reason why a sync does not proceed. It names the local database, unless that is intact.
    package var statusMessage: String {
        code == .contradiction ? message : "the local database failed: \(message)"
    }
}

extension StoreError: CustomStringConvertible {
    public var description: String { message }
}

extension StoreError {
    /// The remedy that the caller has.
    public var advice: Advice {
        switch code {
        case .unknownCollection, .invalidValue, .missingRecord, .duplicateRecord, .danglingReference, .stillReferenced,
            .tooLarge, .missingEntry, .entryIsFrozen, .unsentWrites, .otherAccount:
            .changeTheRequest
        case .diskFull, .databaseFull, .outboxFull, .journalFull: .makeRoom
        case .busy, .inputOutput: .tryAgain
        case .readOnly, .unsafePermissions, .missingFile: .fixTheFolder
        case .newerSchema, .otherSchema, .incompatibleModels: .useTheRightBuild
        case .contradiction: .tryAgain
        case .notADatabase, .corrupt: .report
        }
    }

    /// The remedies that a caller has.
    public enum Advice: String, Hashable, Sendable {
        /// The same request fails again. Send a different one, or change the records first.
        case changeTheRequest
        /// Free disk space, or let the outbox, the journal, or the database shrink.
        case makeRoom
        /// The cause may pass by itself.
        case tryAgain
        /// Correct the path, the owner, or the permissions.
        case fixTheFolder
        /// Open the database with a build that has its models.
        case useTheRightBuild
        /// The file is damaged. Salvage it, and find out why.
        case report
    }
}
