import Glibc
import SyncCore

/// A second name for a damaged database and its log, under which nothing changes them.
struct KeptFiles {
    /// The file of the database; its log has the same name with `-wal` behind it.
    let database: DatabaseFiles

    var log: String { database.path + "-wal" }

    /// Gives the files their second names: `<file>.damaged-1`, or the next number that is free.
    ///
    /// A salvage that was interrupted has done so already, and perhaps removed the log's first name: its names are found again.
    static func keep(_ files: DatabaseFiles) throws(StoreFailure) -> KeptFiles {
        for number in 1...mostKept {
            let kept = KeptFiles(database: DatabaseFiles(path: "\(files.path).damaged-\(number)"))
            if let identity = kept.database.identity() {
                guard identity == files.identity(), try kept.linkLog(of: files) else { continue }
                return kept
            }
            // The log first: with the database's second name, it is complete.
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

    /// Whether an interrupted salvage has given a second name to this database.
    static func hold(_ files: DatabaseFiles) -> Bool {
        (1...mostKept).contains { DatabaseFiles(path: "\(files.path).damaged-\($0)").identity() == files.identity() }
    }

    /// More are a disk that fails, and would fill it.
    private static let mostKept = 20

    /// - Returns: false when another log is kept under the name.
    private func linkLog(of files: DatabaseFiles) throws(StoreFailure) -> Bool {
        let original = DatabaseFiles(path: files.path + "-wal").identity()
        guard let original else { return true }
        if let known = DatabaseFiles(path: log).identity() { return known == original }
        guard link(files.path + "-wal", log) == 0 else {
            throw DatabaseFiles.failure("keep a second name for", files.path + "-wal")
        }
        return true
    }

    /// Copies the database and its log, for SQLite to work on.
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
