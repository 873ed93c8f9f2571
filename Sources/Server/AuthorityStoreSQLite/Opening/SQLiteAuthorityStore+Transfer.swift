package import AuthorityStoreSQL
import Glibc
import SQLiteDatabase
package import SyncAuthority

extension SQLiteAuthorityStore: TransferableStore {
    package func transfer<Result: Sendable>(_ body: (any TransferSession) throws -> Result) throws -> Result {
        try AuthorityStoreError.converting("copy the database") {
            try SQLiteSession.writeDirectly(on: writer) { try body($0) }
        }
    }

    /// Returns the name that `retire` gives a database.
    package static func retiredPath(of path: String) -> String { DatabaseFiles(path: path).moved }

    /// Renames a database that has been copied to another store, so that no server continues its history.
    ///
    /// - Throws: `inUse` if a process serves the database, or if the new name is taken; `inputOutput` if a program reads
    ///   the database, or if the file cannot be renamed. The database then keeps its name.
    package static func retire(_ path: String) throws(AuthorityStoreError) {
        let files = DatabaseFiles(path: path)
        let retired = retiredPath(of: path)
        try AuthorityStoreError.converting("rename \(path)") {
            guard let lock = try files.lockForServer(creatingIfMissing: false) else {
                throw AuthorityStoreError(.inUse, "\(path) is being served by another process: stop that process first")
            }
            // The commits in a WAL are in no other file.
            guard access(path + "-wal", F_OK) != 0 else {
                throw AuthorityStoreError(.inputOutput, "another program reads \(path): stop that program first")
            }
            guard access(retired, F_OK) != 0 else {
                throw AuthorityStoreError(.inUse, "\(retired) exists already: move it away first")
            }
            guard rename(path, retired) == 0 else { throw DatabaseError.file("rename", path) }
            withExtendedLifetime(lock) {}
        }
    }
}
