import AuthorityStoreSQL
import SQLiteDatabase
public import SyncAuthority

extension SQLiteAuthorityStore {
    /// Copies the database at `path` into an empty file, whether or not a process serves it.
    ///
    /// The copy is one snapshot: it has every commit before the call. Nobody waits meanwhile, and the copy contains no
    /// deleted data. SQLite reads each row, so that a damaged database is likely to be noticed.
    ///
    /// - Parameter file: the path of an empty file. The caller flushes it.
    public static func copy(
        _ path: String, into file: String, configuration: SQLiteAuthorityConfiguration = SQLiteAuthorityConfiguration()
    ) throws(AuthorityStoreError) {
        let files = DatabaseFiles(path: path)
        let opening = AuthorityOpening(name: path, configuration: configuration)
        try AuthorityStoreError.converting("copy \(path)") {
            try files.prepareForReader()
            try opening.reader(of: files).copy(into: file)
        }
    }
}
