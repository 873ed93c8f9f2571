import Glibc

/// A descriptor that takes bytes: a standard stream, or a file that its owner closes.
///
/// `FileHandle.write(_:)` ends the process when the disk is full or the reader has gone; this tells it.
public struct ByteSink: Sendable {
    private let descriptor: Int32

    public init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    public static let standardOutput = ByteSink(descriptor: STDOUT_FILENO)
    public static let standardError = ByteSink(descriptor: STDERR_FILENO)

    /// Writes all of the text as UTF-8, however many calls that takes.
    ///
    /// - Returns: nil when all is written; otherwise the number of the error (errno(3)), with a part written perhaps.
    ///   `EPIPE` comes only where SIGPIPE is ignored.
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

    /// The exit status that a shell reports for a program whose reader has gone: the one for `EPIPE`.
    public static let brokenPipeStatus: Int32 = 141
}
