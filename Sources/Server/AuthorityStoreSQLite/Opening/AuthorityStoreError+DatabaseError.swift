import SQLiteDatabase
import SyncAuthority

extension AuthorityStoreError {
    /// Calls `body`, and converts what it throws to a failure of the port. Does not add a path or a value to its
    /// message.
    ///
    /// - Parameter action: what SQLite could not do if it throws, as in "could not read a record".
    static func converting<Value>(
        _ action: String, _ body: () throws -> Value
    ) throws(AuthorityStoreError) -> Value {
        do {
            return try body()
        } catch let failure as AuthorityStoreError {
            throw failure
        } catch let error as DatabaseError {
            throw AuthorityStoreError(kind(of: error.code), error.during(action).message)
        } catch {
            throw AuthorityStoreError(.inputOutput, "could not \(action): \(error)")
        }
    }

    private static func kind(of code: DatabaseError.Code) -> Code {
        switch code {
        case .busy: .busy
        case .diskFull: .diskFull
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
