/// Why a local store did not do what it was asked. Nothing was changed: every call is all or nothing.
public struct StoreFailure: Error, Hashable, Sendable {
    public let code: Code
    /// Says what was wrong, where, and what was expected. Holds no value of a record and no secret.
    public let message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public enum Code: String, Hashable, Sendable, CaseIterable {
        // The request cannot be carried out as it is.
        case unknownCollection, invalidValue, missingRecord, duplicateRecord, danglingReference, stillReferenced
        case tooLarge
        /// The outbox has reached its limit: sync, or discard something, before writing more.
        case outboxFull
        /// The journal holds as many unhandled entries as it may: resend or dismiss some before writing more.
        case journalFull
        /// There is no such entry in the outbox or the journal, or it is past the point where this can be done.
        case missingEntry, entryIsFrozen

        /// The database belongs to another account.
        case otherAccount

        // The file cannot be used as it is.
        case notADatabase, newerSchema, otherSchema, corrupt, unsafePermissions
        /// The file or its folder does not exist and was not to be created.
        case missingFile

        /// The server contradicts itself, or what it has shown before. The file is as good as it was.
        case contradiction

        // The machine is in the way, perhaps not for long.
        case diskFull, readOnly, busy, inputOutput
    }
}

extension StoreFailure: CustomStringConvertible {
    public var description: String { message }
}

extension StoreFailure {
    /// The remedy that the caller has.
    public var advice: Advice {
        switch code {
        case .unknownCollection, .invalidValue, .missingRecord, .duplicateRecord, .danglingReference, .stillReferenced,
            .tooLarge, .missingEntry, .entryIsFrozen, .otherAccount:
            .changeTheRequest
        case .diskFull, .outboxFull, .journalFull: .makeRoom
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
