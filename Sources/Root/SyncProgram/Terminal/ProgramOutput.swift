import SyncRuntimeLive

/// The standard streams of a program. A full disk or a reader that has gone is reported, and never ends the process.
public enum ProgramOutput {
    /// Writes to standard output.
    ///
    /// - Returns: nil when all is written; otherwise the number of the error (errno(3)).
    @discardableResult
    public static func answer(_ text: TerminalText) -> Int32? { ByteSink.standardOutput.write(text.rendered) }

    /// Writes to standard error.
    ///
    /// - Returns: nil when all is written; otherwise the number of the error (errno(3)).
    @discardableResult
    public static func note(_ text: TerminalText) -> Int32? { ByteSink.standardError.write(text.rendered) }

    /// The exit status that a shell reports for a program whose reader has gone: the one for `EPIPE`.
    public static let brokenPipeStatus = ByteSink.brokenPipeStatus
}
