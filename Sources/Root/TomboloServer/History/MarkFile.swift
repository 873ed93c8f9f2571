import Foundation
import Glibc
import SyncAuthority
import SyncServerHTTP

/// The file of a server's mark, next to its database. Only its owner may read it, and it is always replaced as a whole.
struct MarkFile: Sendable {
    let path: String

    /// Maximum size of a mark file, in bytes.
    private static let longest = 4 * 1_024 * 1_024

    /// Whether a file of any kind exists at the path.
    var isThere: Bool { FileStatus(path, followsLinks: false) != nil }

    /// Returns the mark; nil when there is none that can be read. A missing mark is not an error, because it proves
    /// nothing.
    func read() -> HistoryMark? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard let status = FileStatus(descriptor: descriptor), status.isRegular, status.size <= Self.longest,
            let data = try? file.read(upToCount: Self.longest)
        else { return nil }
        return String(bytes: data, encoding: .utf8).flatMap(HistoryMark.init(text:))
    }

    /// Replaces the mark atomically. A power loss during the call leaves the new mark or the previous one.
    ///
    /// - Throws: `MarkFileError`. The previous mark then stays, unless the new one is in place and only the folder
    ///   could not be flushed.
    func write(_ mark: HistoryMark) throws(MarkFileError) {
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw MarkFileError("make", temporary) }
        defer { close(descriptor) }
        var rest = Array(mark.text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("write", temporary) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw failure("write", temporary) }
        guard rename(temporary, path) == 0 else { throw failure("replace", path) }
        let folder = PrivateFolder.containing(path)
        if let code = PrivateFolder.flush(folder) { throw MarkFileError("flush", folder, code) }
    }

    private var temporary: String { path + ".new" }

    /// Creates the error from `errno` before unlinking the temporary file changes it.
    private func failure(_ verb: String, _ path: String) -> MarkFileError {
        let failure = MarkFileError(verb, path)
        unlink(temporary)
        return failure
    }
}

/// The error when a mark cannot be written.
struct MarkFileError: Error, CustomStringConvertible {
    let description: String

    init(_ verb: String, _ path: String, _ code: Int32 = errno) {
        description = "cannot \(verb) \(path): \(String(cString: strerror(code)))"
    }
}
