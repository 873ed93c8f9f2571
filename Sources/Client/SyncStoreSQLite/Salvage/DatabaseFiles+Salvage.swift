import Glibc
import SQLiteDatabase
import SyncCore

extension DatabaseFiles {
    /// The files that SQLite keeps beside a database.
    private var companions: [String] { [path + "-wal", path + "-shm"] }

    /// Throws `busy` if another process has the database open, because the later writes of that process would be lost.
    ///
    /// A connection in WAL mode holds a shared lock on the file for its whole lifetime (https://sqlite.org/wal.html).
    /// This process must have closed the database: closing the file here releases all locks that the process holds on
    /// it.
    func checkUnused() throws {
        let file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw DatabaseError.file("open", path) }
        defer { close(file) }
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = Self.lockedBytes.lowerBound
        lock.l_len = off_t(Self.lockedBytes.count)
        guard fcntl(file, F_GETLK, &lock) == 0 else { throw DatabaseError.file("look for locks on", path) }
        guard lock.l_type == Int16(F_UNLCK) else {
            throw StoreError(.busy, "process \(lock.l_pid) has \(path) open")
        }
    }

    /// The byte range that SQLite locks (https://sqlite.org/fileformat2.html#the_lock_byte_page).
    private static let lockedBytes: Range<off_t> = 0x4000_0000..<0x4000_0200

    /// Removes the database, its WAL, and its WAL index.
    func remove() {
        for name in [path] + companions { unlink(name) }
    }

    /// Returns the contents of the file. Only for new databases, marker files, and WALs, which are small.
    func bytes() throws -> [UInt8] {
        // Opening a named pipe would wait for its writer.
        let file = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { throw DatabaseError.file("read", path) }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0 else { throw DatabaseError.file("look at", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw DatabaseError(.unsafePermissions, "\(path) is not a regular file")
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        guard read(file, &bytes, bytes.count) == bytes.count else { throw DatabaseError.file("read", path) }
        return bytes
    }

    /// Moves this database, which must be closed and flushed, over another one.
    func replace(_ other: DatabaseFiles) throws {
        // SQLite would replay the other database's WAL into this one. The index stays: a repeated salvage
        // needs it, and SQLite replaces it.
        guard unlink(other.wal) == 0 || errno == ENOENT else { throw DatabaseError.file("remove", other.wal) }
        try Self.flush(folder)
        guard rename(path, other.path) == 0 else { throw DatabaseError.file("replace", other.path) }
        try Self.flush(folder)
    }

    private static func flush(_ folder: String) throws {
        let place = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard place >= 0 else { throw DatabaseError.file("open", folder) }
        defer { close(place) }
        // Some file systems do not support flushing a folder.
        guard fsync(place) == 0 || errno == EINVAL else { throw DatabaseError.file("flush", folder) }
    }
}
