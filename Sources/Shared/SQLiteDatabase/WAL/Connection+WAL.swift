import CSQLite

extension Connection {
    /// The size of the WAL file in bytes: 0 when there is none, negative when it is unknown.
    package var walBytes: Int64 { csqlite_wal_size(handle) }

    /// Sets the size in bytes to which SQLite truncates a longer WAL file when the WAL restarts from its beginning.
    package func limitWAL(bytes: Int64) throws(DatabaseError) {
        try execute("PRAGMA journal_size_limit = \(bytes)")
    }

    /// Writes the contents of the WAL file over themselves and flushes them, so that all commits that this connection
    /// can see are durable.
    ///
    /// SQLite may just have recovered commits from the WAL of a process that was killed before its flush, or whose
    /// flush failed. These commits are visible, but the next power loss may undo them. A checkpoint is not used,
    /// because it would have to wait for other readers, such as a backup that takes hours.
    ///
    /// Must be called in a transaction that holds the write lock.
    package func rewriteWAL() throws(DatabaseError) {
        let code = csqlite_rewrite_wal(handle)
        guard code == SQLITE_OK else { throw DatabaseError(code, while: "flush the WAL") }
    }

    /// Prevents this connection from checkpointing and deleting the WAL if it is the last one to close.
    package func keepWALOnClose() {
        _ = csqlite_keep_wal_on_close(handle)
    }

    /// Turns off SQLite's automatic checkpoints, and counts the pages in the WAL instead: see `pagesInWAL`.
    ///
    /// Before version 3.51.3, SQLite can corrupt a database when one connection checkpoints while another commits and
    /// restarts the WAL. A program with several connections therefore runs checkpoints itself, while it holds the write
    /// lock.
    package func takeOverCheckpoints() throws(DatabaseError) {
        try turnOffCheckpoints()
        let pages = walPages ?? .allocate(capacity: 1)
        pages.initialize(to: 0)
        walPages = pages
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                context?.assumingMemoryBound(to: Int32.self).pointee = pages
                return SQLITE_OK
            }, pages)
    }

    /// Turns off SQLite's automatic checkpoints.
    package func turnOffCheckpoints() throws(DatabaseError) {
        try execute("PRAGMA wal_autocheckpoint = 0")
    }

    /// The number of pages in the WAL after this connection's last commit; 0 after `forgetPagesInWAL()`, and always 0
    /// without `takeOverCheckpoints()`.
    package var pagesInWAL: Int { Int(walPages?.pointee ?? 0) }

    /// Sets `pagesInWAL` to 0, for use after a checkpoint, which does not change it.
    package func forgetPagesInWAL() {
        walPages?.pointee = 0
    }

    package enum CheckpointMode: Sendable {
        /// Copies what can be copied without waiting for other connections.
        case passive
        /// Waits for readers, copies everything, and truncates the WAL file.
        case truncate
    }

    /// Copies the WAL into the database file.
    ///
    /// - Returns: whether all of the WAL is in the database file now.
    @discardableResult
    package func checkpoint(_ mode: CheckpointMode) throws(DatabaseError) -> Bool {
        // SQLite opens the WAL with the first read. Unlike PRAGMA wal_checkpoint, neither this read nor the checkpoint
        // parses the schema, which takes as long as copying hundreds of pages.
        try statement("PRAGMA data_version").run()
        let code: Int32 = mode == .passive ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_TRUNCATE
        var (pages, copied): (Int32, Int32) = (0, 0)
        switch sqlite3_wal_checkpoint_v2(handle, "main", code, &pages, &copied) {
        case SQLITE_OK: return pages == copied
        case SQLITE_BUSY: return false
        case let failure: throw DatabaseError(failure, of: handle, while: "checkpoint the WAL")
        }
    }
}
