import Glibc

/// The files that the connections of a process have open: a database, its WAL, and the WAL's index.
///
/// SQLite deletes none of them while a connection is open. If one was deleted or replaced, this process continues to
/// use a file that nobody finds again. Without a common index, two processes do not even see each other's locks, and
/// overwrite each other's part of the WAL (https://sqlite.org/howtocorrupt.html, 1.4). So this process must not commit
/// any more.
package struct OpenFiles: Hashable, Sendable {
    package let files: DatabaseFiles
    private let database: DatabaseFiles.Identity
    private let walFile: DatabaseFiles
    private let indexFile: DatabaseFiles
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
        walFile = DatabaseFiles(path: files.wal)
        indexFile = DatabaseFiles(path: files.index)
        wal = walFile.identity()
        index = indexFile.identity()
    }

    /// The path of a file that was deleted or replaced; nil if all are in place.
    package var replaced: String? {
        if files.identity() != database { return files.path }
        for (file, known) in [(walFile, wal), (indexFile, index)] {
            if let known, file.identity() != known { return file.path }
        }
        return nil
    }

    /// Whether another process may have written into the WAL at the path, under an index of its own. Then neither a
    /// checkpoint nor the end of a connection may touch the WAL.
    ///
    /// If the WAL was deleted and no other one is there, this process alone has its contents, and must copy them into
    /// the database before it ends.
    package var mayHaveForeignWAL: Bool {
        guard let wal else { return false }
        if walFile.identity() == wal { return index != nil && indexFile.identity() != index }
        var status = stat()
        return lstat(walFile.path, &status) == 0 && status.st_size > 0
    }
}
