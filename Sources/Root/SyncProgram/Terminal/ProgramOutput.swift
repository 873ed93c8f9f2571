import SyncRuntimeLive

/// The standard streams of a program. A full disk or a closed pipe is returned as an error number, and never ends the
/// process.
public enum ProgramOutput {
    /// Writes to standard output.
    ///
    /// - Returns: nil on success; otherwise the error number (errno(3)).
    @discardableResult
    public static func write(_ text: TerminalText) -> Int32? { ByteSink.standardOutput.write(text.rendered) }

    /// Writes to standard error. If nobody reads it, a program must still end, so a message waits for at most a second.
    ///
    /// - Returns: nil on success; otherwise the error number (errno(3)).
    @discardableResult
    public static func note(_ text: TerminalText) -> Int32? {
        ByteSink.standardError.write(text.rendered, within: .seconds(1))
    }

    /// The exit status after `EPIPE`: the one that a shell reports for a program whose reader has gone away.
    public static let brokenPipeStatus = ByteSink.brokenPipeStatus
}
