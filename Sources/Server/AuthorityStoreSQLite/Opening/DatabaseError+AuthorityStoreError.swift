import AuthorityStoreSQL
package import SQLiteDatabase
package import SyncAuthority

extension DatabaseError: DatabaseFailure {
    package func authorityError(during action: String) -> AuthorityStoreError {
        AuthorityStoreError(authorityCode, during(action).message)
    }

    private var authorityCode: AuthorityStoreError.Code {
        switch code {
        case .busy: .busy
        case .diskFull, .fileTooLarge: .diskFull
        case .readOnly: .readOnly
        case .cannotOpen, .missingFile: .missingFile
        case .noDatabase: .noDatabase
        case .unsafePermissions: .unsafePermissions
        case .notADatabase: .notADatabase
        case .corrupt, .constraint: .corrupt
        case .tooLarge: .unstorable
        case .otherSchema: .otherSchema
        case .newerSchema: .newerSchema
        case .notDurable: .notDurable
        case .closed, .inputOutput: .inputOutput
        }
    }
}
