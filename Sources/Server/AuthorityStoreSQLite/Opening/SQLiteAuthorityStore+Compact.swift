import AuthorityStoreSQL
import SQLiteDatabase
public import SyncAuthority

extension SQLiteAuthorityStore {
    /// Gives the space of deleted rows back to the file system, without changing what the database contains.
    ///
    /// Every other writer waits meanwhile, also a server of the same database, which tells devices to push later. Reads
    /// continue. If another process serves the database, the file becomes shorter with its next checkpoint.
    ///
    /// - Returns: the sizes of the database before and after that, in bytes.
    /// - Throws: `busy` if another process writes for too long, and `diskFull`: up to twice the new size is needed
    ///   meanwhile. The database is unchanged then.
    public func compact() throws(AuthorityStoreError) -> (before: Int64, after: Int64) {
        try checkFiles()
        return try AuthorityStoreError.converting("compact the database") { try writer.use { try $0.compact() } }
    }
}
