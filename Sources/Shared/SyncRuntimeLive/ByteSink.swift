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
    /// - Parameter limit: how long to wait for the reader of a pipe or a socket; nil waits without a limit.
    /// - Returns: nil when everything was written; otherwise the error number (errno(3)), and part of the text may have
    ///   been written. `EPIPE` is returned only when SIGPIPE is ignored. `EAGAIN` means that the reader has not made
    ///   room in time; of a text of at most `atomicBytes` for a pipe, nothing has been written then.
    @discardableResult
    public func write(_ text: String, within limit: Duration? = nil) -> Int32? {
        let end = limit.map { ContinuousClock.now + $0 }
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            if let end, let failure = waitForRoom(until: end) { return failure }
            // A pipe that is ready has room for `atomicBytes`. More could block.
            let piece = end == nil ? bytes : bytes.prefix(Self.atomicBytes)
            let count = piece.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                let code = errno
                if code == EINTR { continue }
                // The descriptor is non-blocking, so wait here.
                if code == EAGAIN, end == nil {
                    _ = waitForRoom(until: .now + .seconds(1))
                    continue
                }
                return code
            }
            bytes = bytes.dropFirst(count)
        }
        return nil
    }

    /// Returns nil when the reader has made room, and otherwise the error number.
    private func waitForRoom(until end: ContinuousClock.Instant) -> Int32? {
        while true {
            let left = max(.zero, ContinuousClock.now.duration(to: end))
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            let ready = poll(&state, 1, Int32(clamping: left.wholeMilliseconds))
            if ready > 0 { return nil }
            if ready == 0 { return EAGAIN }
            let code = errno
            if code != EINTR { return code }
        }
    }

    /// The number of bytes that a pipe takes whole or not at all: `PIPE_BUF` of pipe(7).
    public static let atomicBytes = 4_096

    /// The exit status to use after `EPIPE`: the one that a shell reports for a program killed by SIGPIPE.
    public static let brokenPipeStatus: Int32 = 141
}
