import Foundation
import Glibc
import SyncConcurrency
import SyncProgram
import SyncServerHTTP

/// The file that tells a script on which free port the server listens.
struct PortFile: Sendable {
    let path: String
    /// The files of the server. Beside each of them, the server uses names that begin with its name.
    let serverFiles: [String]
    /// The port that was written; nil before that.
    private let written = Guarded<Int?>(nil)

    init(path: String, serverFiles: [String]) {
        self.path = path
        self.serverFiles = serverFiles
    }

    /// Checks, before the server opens its database, that the file can be written, and removes that of an earlier run,
    /// whose port a script would take for this server's.
    ///
    /// - Throws: `ConfigurationError` if the path has anything but the file of an earlier run or an empty file, or its
    ///   folder takes no new file.
    func check() throws(ConfigurationError) {
        try requireReplaceable()
        try makeTemporary(containing: "")
        unlink(temporary)
        guard unlink(path) == 0 || errno == ENOENT else { throw failure() }
    }

    /// Writes the port as a whole, so that a reader never sees half a number.
    ///
    /// - Throws: the same error as `check()`. The previous file then stays.
    func write(_ port: Int) throws(ConfigurationError) {
        try makeTemporary(containing: "\(port)\n")
        do throws(ConfigurationError) {
            // A rename would replace a link, a pipe, a device, or another file of the server.
            try requireReplaceable()
            guard rename(temporary, path) == 0 else { throw failure() }
        } catch {
            unlink(temporary)
            throw error
        }
        written.withLock { $0 = port }
    }

    /// Removes the file at the end of the server, unless another server has written its port into it.
    func remove() {
        guard let port = written.withLock({ $0 }), let status = FileStatus(path, followsLinks: false), status.isRegular
        else { return }
        let text = Data("\(port)\n".utf8)
        guard status.size == text.count, FileManager.default.contents(atPath: path) == text else { return }
        unlink(path)
    }

    private var temporary: String { "\(path).\(getpid()).new" }

    private func requireReplaceable() throws(ConfigurationError) {
        if let file = serverFiles.first(where: isBeside) {
            throw ConfigurationError(
                "listen.port-file: \(path) is a name that the server uses beside \(file); expected another name",
                advice: "give the path of a file that the server may replace")
        }
        guard let status = FileStatus(path, followsLinks: false) else {
            if errno == ENOENT { return }
            throw failure()
        }
        let kind: String
        switch status.kind {
        case S_IFREG:
            guard try !hasPort(status) else { return }
            kind = "no port file, because it has other contents"
        case S_IFLNK: kind = "a symbolic link"
        case S_IFDIR: kind = "a folder"
        case S_IFIFO: kind = "a named pipe"
        case S_IFSOCK: kind = "a socket"
        case S_IFCHR, S_IFBLK: kind = "a device"
        default: kind = "no regular file"
        }
        throw ConfigurationError(
            "listen.port-file: \(path) is \(kind); expected the file of an earlier run, an empty file, or nothing",
            advice: "give the path of a file that the server may replace")
    }

    /// Whether the path has the name of a file of the server, or one that the server derives from it. Such a file may
    /// be empty: the WAL, or a lock, which protects nothing once it is replaced.
    private func isBeside(_ file: String) -> Bool {
        let (name, reserved) = (URL(filePath: path).lastPathComponent, URL(filePath: file).lastPathComponent)
        guard name == reserved || name.hasPrefix(reserved + "-") || name.hasPrefix(reserved + ".") else { return false }
        return FileStatus.areSame(PrivateFolder.containing(path), PrivateFolder.containing(file))
    }

    /// Whether a regular file has nothing but a port.
    private func hasPort(_ status: FileStatus) throws(ConfigurationError) -> Bool {
        if status.size == 0 { return true }
        guard status.size <= "65535\n".utf8.count else { return false }
        guard let bytes = FileManager.default.contents(atPath: path) else { throw failure() }
        return UInt16(String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .newlines)) != nil
    }

    private func makeTemporary(containing text: String) throws(ConfigurationError) {
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure() }
        let bytes = Array(text.utf8)
        let count = Glibc.write(descriptor, bytes, bytes.count)
        let problem = count == bytes.count ? nil : failure()
        Glibc.close(descriptor)
        guard let problem else { return }
        unlink(temporary)
        throw problem
    }

    /// Creates the error from `errno`.
    private func failure() -> ConfigurationError {
        ConfigurationError(
            "listen.port-file: cannot write \(path): \(String(cString: strerror(errno)))",
            advice: "give the path of a file in a folder in which the server may create files")
    }
}
