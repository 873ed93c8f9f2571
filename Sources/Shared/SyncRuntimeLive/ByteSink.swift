import Glibc

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

    /// The exit status to use after `EPIPE`: the one that a shell reports for a program killed by SIGPIPE.
    public static let brokenPipeStatus: Int32 = 141
}
