import Glibc
import SyncConcurrency
public import SyncProgram

/// The source of a client's token: a fixed value, or a file that may be replaced while the program runs.
///
/// The file is checked before each request and read again after a change, so that a rotated token is used without a
/// restart. While the file is missing or invalid, the last valid token stays in use, because the replacement may still
/// be in progress.
public final class TokenSource: Sendable {
    private struct Reading {
        var token: Token?
        var stamp: Stamp?
    }

    /// The file metadata that changes when a file is replaced or written.
    private struct Stamp: Hashable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let modified: [Int]

        init?(path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = [
                status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
            ]
        }
    }

    private let path: String?
    private let reading: Guarded<Reading>

    /// Creates a source whose token never changes.
    public init(_ token: Token) {
        path = nil
        reading = Guarded(Reading(token: token, stamp: nil))
    }

    /// Reads the token from a file.
    ///
    /// - Throws: when the file does not contain a token.
    public init(file path: String) throws(ConfigurationError) {
        self.path = path
        let stamp = Stamp(path: path)
        reading = Guarded(Reading(token: try Token(file: path), stamp: stamp))
    }

    /// Waits for a file that does not contain a token yet.
    init(awaiting path: String) {
        self.path = path
        reading = Guarded(Reading(token: nil, stamp: nil))
    }

    /// Whether the token comes from a file, and so can change.
    var canChange: Bool { path != nil }

    /// The last valid token; nil while there has been none.
    public var current: Token? {
        reading.withLock { reading in
            guard let path, let stamp = Stamp(path: path), stamp != reading.stamp else { return reading.token }
            // The stamp was taken before the file is read, so that a change in between is noticed the next time.
            if let token = try? Token(file: path) { reading = Reading(token: token, stamp: stamp) }
            return reading.token
        }
    }
}
