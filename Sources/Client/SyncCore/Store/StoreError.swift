/// The reason why a local store could not do what was requested. Nothing was changed, because every call is all or
/// nothing.
public struct StoreError: Error, Hashable, Sendable {
    public let code: Code
    /// States what was wrong, where, and what was expected. Contains no value of a record and no secret.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public enum Code: String, Hashable, Sendable, CaseIterable {
        // The request cannot be carried out.
        case unknownCollection, invalidValue, missingRecord, duplicateRecord, danglingReference, stillReferenced
        case tooLarge
        /// The outbox has reached its limit. Sync or discard something before writing more.
        case outboxFull
        /// The journal holds as many active entries as it may. Restore or dismiss some before writing more.
        case journalFull
        /// The outbox or journal has no such entry, or the entry is past the point where this can be done.
        case missingEntry, entryIsFrozen
        /// The space holds writes that only this device has.
        case unsentWrites

        /// The database belongs to another account.
        case otherAccount

        // The file cannot be used.
        case notADatabase, newerSchema, otherSchema, corrupt, unsafePermissions
        /// The file or its folder does not exist, and the caller did not ask to create it.
        case missingFile

        /// The server contradicts itself or what it has shown before. The database file is intact.
        case contradiction

        /// The database has reached the limit of its size. Nothing more is downloaded.
        case databaseFull

        // The operating system or another process prevents it, perhaps temporarily.
        case diskFull, readOnly, busy, inputOutput
    }
}

extension StoreError {
    /// Calls a closure that throws store errors only, and throws its error with its type.
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
        case .newerSchema, .otherSchema: .useTheRightBuild
        case .contradiction: .tryAgain
        case .notADatabase, .corrupt: .report
        }
    }

    public enum Advice: String, Hashable, Sendable {
        case changeTheRequest, makeRoom, tryAgain, fixTheFolder, useTheRightBuild, report
    }
}
