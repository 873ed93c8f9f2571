/// The files that the connections of a process have open: a database, its WAL, and the WAL's index.
///
/// SQLite deletes none of them while a connection is open. If one was deleted or replaced, this process continues to
/// use a file that nobody finds again. Without a common index, two processes do not even see each other's locks, and
/// overwrite each other's part of the WAL. So this process must not write any more, and must leave the WAL as it is
/// (https://sqlite.org/howtocorrupt.html, 1.4).
package struct OpenFiles: Hashable, Sendable {
    package let files: DatabaseFiles
    private let database: DatabaseFiles.Identity
    /// Nil if there was no such file, such as an index in exclusive mode.
    private let wal: DatabaseFiles.Identity?
    private let index: DatabaseFiles.Identity?

    /// Remembers the files of a database. A connection must have read from it before, so that all of them exist.
    ///
    /// - Throws: when the database is not at its path.
    package init(_ files: DatabaseFiles) throws(DatabaseError) {
        guard let database = files.identity() else { throw .file("look at", files.path) }
        self.files = files
        self.database = database
        wal = DatabaseFiles(path: files.wal).identity()
        index = DatabaseFiles(path: files.index).identity()
    }

    /// The path of a file that was deleted or replaced; nil if all are in place.
    package var replaced: String? {
        if files.identity() != database { return files.path }
        for (path, known) in [(files.wal, wal), (files.index, index)] {
            if let known, DatabaseFiles(path: path).identity() != known { return path }
        }
        return nil
    }
}
