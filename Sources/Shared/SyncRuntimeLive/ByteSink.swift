import Glibc
import SyncModel

/// A file descriptor to write to: a standard stream, or a file that its owner closes.
///
/// When the disk is full or the reader has gone, `write(_:)` returns the error, and does not terminate the process as
/// `FileHandle.write(_:)` does.
public struct ByteSink: Sendable {
    private let descriptor: Int32

    public init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    public static let standardOutput = ByteSink(descriptor: STDOUT_FILENO)
    public static let standardError = ByteSink(descriptor: STDERR_FILENO)

    /// Writes the whole text as UTF-8, with as many system calls as necessary.
    ///
    /// - Returns: nil when everything was written; otherwise the error number (errno(3)), and part of the text may have
    ///   been written. `EPIPE` is returned only when SIGPIPE is ignored.
    @discardableResult
    public func write(_ text: String) -> Int32? {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                return code
            }
            bytes = bytes.dropFirst(count)
        }
        return nil
    }

    /// Writes the text as `write(_:)` does, but waits for the reader of a pipe, a socket, or a terminal only for a limited
    /// time.
    ///
    /// - Returns: as `write(_:)`, and `EAGAIN` if the reader has not made room in time. Of a text of at most
    ///   `atomicBytes`, nothing has been written then.
    public func write(_ text: String, within limit: Duration) -> Int32? {
        let clock = ContinuousClock()
        let end = clock.now + limit
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let left = max(.zero, clock.now.duration(to: end))
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&state, 1, Int32(clamping: left.wholeMilliseconds))
            if ready == 0 { return EAGAIN }
            if ready < 0 {
                if errno == EINTR { continue }
                return errno
            }
            // A pipe that is ready has room for this many bytes.
            let piece = bytes.prefix(Self.atomicBytes)
            let count = piece.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                return code
            }
            bytes = bytes.dropFirst(count)
        }
        return nil
    }

    /// The number of bytes that a pipe takes whole or not at all: `PIPE_BUF` of pipe(7).
    public static let atomicBytes = 4_096

    /// The exit status to use after `EPIPE`: the one that a shell reports for a program killed by SIGPIPE.
    public static let brokenPipeStatus: Int32 = 141
}
