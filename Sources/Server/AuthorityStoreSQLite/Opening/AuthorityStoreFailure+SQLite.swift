import GRDB
import SyncAuthority

extension AuthorityStoreFailure {
    /// Converts an error of SQLite or of this module to a failure of the store. Does not add a path or a value to its
    /// message.
    static func wrapping(_ error: any Error, while action: String) -> AuthorityStoreFailure {
        switch error {
        case let failure as AuthorityStoreFailure: return failure
        case let error as DatabaseError:
            let code = error.extendedResultCode
            let text = "SQLite could not \(action): \(error.message ?? "no message") (code \(code.rawValue))"
            return AuthorityStoreFailure(
                code == .SQLITE_IOERR_SHMSIZE ? .diskFull : kind(of: code.primaryResultCode), text)
        default:
            return AuthorityStoreFailure(.inputOutput, "could not \(action): \(error)")
        }
    }

    private static func kind(of code: ResultCode) -> Code {
        switch code {
        case .SQLITE_BUSY, .SQLITE_LOCKED: .busy
        case .SQLITE_FULL: .diskFull
        case .SQLITE_READONLY, .SQLITE_PERM, .SQLITE_AUTH: .readOnly
        case .SQLITE_CANTOPEN: .missingFile
        case .SQLITE_NOTADB: .notADatabase
        case .SQLITE_CORRUPT, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_FORMAT: .corrupt
        case .SQLITE_TOOBIG: .unstorable
        default: .inputOutput
        }
    }
}
