import Glibc
import SQLiteDatabase
import SyncCore

/// Second names (hard links) for a damaged database and its WAL. Nothing changes the files under these names.
struct KeptFiles {
    /// The database file. Its WAL has the same name with `-wal` appended.
    let database: DatabaseFiles

    var wal: String { database.path + "-wal" }

    /// Gives the files their second names: `<file>.damaged-1`, or the next free number.
    ///
    /// If an interrupted salvage has already done so, its second names are used again, because it may have removed the
    /// WAL's first name.
    static func keep(_ files: DatabaseFiles) throws -> KeptFiles {
        for path in SalvageReport.keptFiles(of: files.path) {
            let kept = KeptFiles(database: DatabaseFiles(path: path))
            if let identity = kept.database.identity() {
                guard identity == files.identity(), try kept.linkWAL(of: files) else { continue }
                return kept
            }
            // The WAL is linked first, so that the pair is complete as soon as the database has its second name.
            unlink(kept.wal)
            guard try kept.linkWAL(of: files) else { continue }
            guard link(files.path, kept.database.path) == 0 else {
                throw DatabaseError.file("keep a second name for", files.path)
            }
            return kept
        }
        throw StoreError(
            .inputOutput,
            "\(SalvageReport.mostKeptFiles) damaged databases are already kept beside \(files.path): move them to another folder"
        )
    }

    /// Removes the second names after a failed salvage, if the database and its WAL still have their first ones.
    ///
    /// Otherwise the database has been replaced, or its WAL is about to be applied to its replacement. Then only the
    /// second names lead to the damaged files.
    func release(_ files: DatabaseFiles) {
        guard database.identity() == files.identity(),
            DatabaseFiles(path: wal).identity() == DatabaseFiles(path: files.wal).identity()
        else { return }
        // The database can be opened as soon as it has one name. The next salvage replaces a WAL that is left behind.
        unlink(database.path)
        unlink(wal)
    }

    /// Whether an interrupted salvage has given this database a second name.
    static func exist(for files: DatabaseFiles) -> Bool {
        SalvageReport.keptFiles(of: files.path).contains { DatabaseFiles(path: $0).identity() == files.identity() }
    }

    /// Links the WAL, if there is one.
    ///
    /// - Returns: false when the second name belongs to another WAL.
    private func linkWAL(of files: DatabaseFiles) throws -> Bool {
        let original = DatabaseFiles(path: files.path + "-wal").identity()
        guard let original else { return true }
        if let known = DatabaseFiles(path: wal).identity() { return known == original }
        guard link(files.path + "-wal", wal) == 0 else {
            throw DatabaseError.file("keep a second name for", files.path + "-wal")
        }
        return true
    }

    /// Copies the database and its WAL, for SQLite to work on.
    ///
    /// - Parameter index: the index of the WAL; nil if it is unknown. With it, SQLite reads all commits in the copy,
    ///   and damaged pages, too.
    /// - Returns: the damage in the WAL.
    func copy(to path: String, _ index: WALIndex?) throws -> WALFile.Damage {
        try Self.copy(database.path, to: path)
        guard DatabaseFiles(path: wal).identity() != nil else { return .none }
        try Self.copy(wal, to: path + "-wal")
        guard let index else { return .none }
        return try WALFile.acceptDamage(inCopy: path + "-wal", index)
    }

    private static func copy(_ source: String, to target: String) throws {
        let input = open(source, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard input >= 0 else { throw DatabaseError.file("read", source) }
        defer { close(input) }
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw DatabaseError.file("create", target) }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(input, &buffer, buffer.count)
            guard count >= 0 else { throw DatabaseError.file("read", source) }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let more = buffer[written..<count].withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
                guard more > 0 else { throw DatabaseError.file("write", target) }
                written += more
            }
        }
    }
}
