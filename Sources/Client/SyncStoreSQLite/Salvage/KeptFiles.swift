import Glibc
import SyncCore

/// Second names (hard links) for a damaged database and its WAL. Nothing changes the files under these names.
struct KeptFiles {
    /// The database file. Its WAL has the same name with `-wal` appended.
    let database: DatabaseFiles

    var log: String { database.path + "-wal" }

    /// Gives the files their second names: `<file>.damaged-1`, or the next free number.
    ///
    /// An interrupted salvage has already done so, and may have removed the WAL's first name. Its second names are then
    /// used again.
    static func keep(_ files: DatabaseFiles) throws(StoreFailure) -> KeptFiles {
        for number in 1...mostKept {
            let kept = KeptFiles(database: DatabaseFiles(path: "\(files.path).damaged-\(number)"))
            if let identity = kept.database.identity() {
                guard identity == files.identity(), try kept.linkLog(of: files) else { continue }
                return kept
            }
            // The WAL is linked first, so that the pair is complete as soon as the database has its second name.
            unlink(kept.log)
            guard try kept.linkLog(of: files) else { continue }
            guard link(files.path, kept.database.path) == 0 else {
                throw DatabaseFiles.failure("keep a second name for", files.path)
            }
            return kept
        }
        throw StoreFailure(
            .inputOutput, "beside \(files.path) are \(mostKept) damaged databases already: move them to another place")
    }

    /// Whether an interrupted salvage has given this database a second name.
    static func hold(_ files: DatabaseFiles) -> Bool {
        (1...mostKept).contains { DatabaseFiles(path: "\(files.path).damaged-\($0)").identity() == files.identity() }
    }

    /// Maximum number of kept databases. More would mean a failing disk, and would fill it.
    private static let mostKept = 20

    /// Links the WAL, if there is one.
    ///
    /// - Returns: false when the name belongs to another WAL.
    private func linkLog(of files: DatabaseFiles) throws(StoreFailure) -> Bool {
        let original = DatabaseFiles(path: files.path + "-wal").identity()
        guard let original else { return true }
        if let known = DatabaseFiles(path: log).identity() { return known == original }
        guard link(files.path + "-wal", log) == 0 else {
            throw DatabaseFiles.failure("keep a second name for", files.path + "-wal")
        }
        return true
    }

    /// Copies the database and its WAL, for SQLite to work on.
    func copy(to path: String) throws(StoreFailure) {
        try Self.copy(database.path, to: path)
        if DatabaseFiles(path: log).identity() != nil { try Self.copy(log, to: path + "-wal") }
    }

    private static func copy(_ source: String, to target: String) throws(StoreFailure) {
        let input = open(source, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard input >= 0 else { throw DatabaseFiles.failure("read", source) }
        defer { close(input) }
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw DatabaseFiles.failure("create", target) }
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(input, &buffer, buffer.count)
            guard count >= 0 else { throw DatabaseFiles.failure("read", source) }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let more = buffer[written..<count].withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
                guard more > 0 else { throw DatabaseFiles.failure("write", target) }
                written += more
            }
        }
    }
}
