import Foundation
import Glibc
import SyncProgram
import SyncServerHTTP

/// The file of a backup, which is complete and durable as soon as it has its name.
struct BackupFile {
    let path: String

    /// Throws if the name of the file means something else to SQLite or to the server.
    ///
    /// - Parameter database: The file of the server's database. SQLite and the server take the files whose names begin
    ///   with its name and a hyphen for theirs.
    func check(beside database: String) throws(ConfigurationError) {
        guard !path.hasPrefix("file:") else {
            throw ConfigurationError(
                "backup: '\(path)' is not the path of a file", advice: "write ./\(path) for a file of that name")
        }
        let (file, reserved) = (URL(filePath: path), URL(filePath: database))
        let isBeside =
            file.deletingLastPathComponent().resolvingSymlinksInPath()
            == reserved.deletingLastPathComponent().resolvingSymlinksInPath()
        guard !isBeside || !file.lastPathComponent.hasPrefix(reserved.lastPathComponent + "-") else {
            throw ConfigurationError(
                "backup: \(path) is a name that SQLite or the server uses beside the database; expected another name",
                advice: "give a file in another folder")
        }
    }

    /// Calls `write` with the path of an empty file in the same folder, readable only by its owner, and gives the file
    /// its name once it is durable. If anything before that fails, no file is left. If the name cannot be flushed, the
    /// whole file stays.
    ///
    /// - Returns: the result of `write`.
    /// - Throws: `ConfigurationError` if there is something at the path, if others may write in the folder, or if the
    ///   file cannot be written; and the errors of `write`.
    func create<Value>(_ write: (_ temporary: String) throws -> Value) throws -> Value {
        try requireAbsent()
        try requirePrivateFolder()
        unlink(temporary)
        let descriptor = open(temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("create", temporary) }
        defer { close(descriptor) }
        let value: Value
        do {
            value = try write(temporary)
            guard fsync(descriptor) == 0 else { throw failure("write", temporary) }
            // A rename would replace a file that has appeared meanwhile.
            try requireAbsent()
            guard rename(temporary, path) == 0 else { throw failure("create", path) }
        } catch {
            unlink(temporary)
            // SQLite leaves its rollback journal if the disk is full.
            unlink(temporary + "-journal")
            throw error
        }
        if let code = PrivateFolder.flush(folder) { throw failure("flush", folder, code) }
        return value
    }

    private var folder: String { PrivateFolder.containing(path) }

    /// A killed process leaves this file. Its name ends with `.new`, so that nobody takes it for a backup.
    private var temporary: String { "\(path).\(getpid()).new" }

    /// Throws if there is something at the path. SQLite would apply a journal or a WAL of an earlier file of this name
    /// to the backup when somebody opens it.
    private func requireAbsent() throws(ConfigurationError) {
        for suffix in ["", "-journal", "-wal"] { try requireAbsent(path + suffix) }
    }

    private func requireAbsent(_ path: String) throws(ConfigurationError) {
        guard FileStatus(path, followsLinks: false) == nil else {
            throw ConfigurationError(
                "backup: \(path) exists already; expected the name of a new file",
                advice: "give another name, or delete that file first")
        }
        guard errno == ENOENT else { throw failure("look at", path) }
    }

    /// Nobody else may replace the temporary file, which SQLite opens by its name.
    private func requirePrivateFolder() throws(ConfigurationError) {
        try PrivateFolder.check(folder, for: "backup")
        guard let status = FileStatus(folder, followsLinks: true) else { throw failure("look at", folder) }
        guard status.owner == geteuid() || status.owner == 0 else {
            throw ConfigurationError(
                "backup: \(folder) belongs to user \(status.owner), and this program runs as user \(geteuid()): expected a folder of that user"
            )
        }
    }

    private func failure(_ verb: String, _ file: String, _ code: Int32 = errno) -> ConfigurationError {
        ConfigurationError(
            "backup: cannot \(verb) \(file): \(String(cString: strerror(code)))",
            advice: code == ENOSPC ? "free space on that disk" : nil, mayPass: code == ENOSPC || code == EIO)
    }
}
