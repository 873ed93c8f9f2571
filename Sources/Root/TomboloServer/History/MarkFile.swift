import Foundation
import Glibc
import SyncAuthority

/// The file of a server's mark, beside its database: for the owner alone, replaced whole.
struct MarkFile: Sendable {
    let path: String

    /// Longer files are no marks.
    private static let longest = 4 * 1_024 * 1_024

    /// Whether there is a file at the path, of whatever kind.
    var isThere: Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    /// The mark; nil when there is none, or none that can be read. That is no failure: it only proves nothing.
    func read() -> HistoryMark? {
        let descriptor = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= Self.longest,
            let data = try? file.read(upToCount: Self.longest)
        else { return nil }
        return String(bytes: data, encoding: .utf8).flatMap(HistoryMark.init(text:))
    }

    /// Replaces the mark, durably and as a whole.
    ///
    /// - Throws: `MarkFileError`; the mark that was there stays.
    func write(_ mark: HistoryMark) throws(MarkFileError) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw MarkFileError("make", temporary) }
        defer { close(descriptor) }
        var rest = Array(mark.text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure("write", temporary) }
            rest = rest.dropFirst(count)
        }
        guard fsync(descriptor) == 0 else { throw Self.failure("write", temporary) }
        guard rename(temporary, path) == 0 else { throw MarkFileError("replace", path) }
    }

    /// By `errno`, which the removal of the half-written file would change.
    private static func failure(_ verb: String, _ temporary: String) -> MarkFileError {
        let failure = MarkFileError(verb, temporary)
        unlink(temporary)
        return failure
    }
}

/// Why a mark could not be written.
struct MarkFileError: Error, CustomStringConvertible {
    let description: String

    /// By `errno`.
    init(_ verb: String, _ path: String) {
        description = "cannot \(verb) \(path): \(String(cString: strerror(errno)))"
    }
}
