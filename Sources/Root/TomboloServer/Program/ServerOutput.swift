import Foundation
import SyncProgram

/// Writes the output of a server command.
enum ServerOutput {
    /// Writes a text to standard output. When the reader has gone (`| head`), the program exits with the status of
    /// SIGPIPE.
    ///
    /// - Parameter effect: a clause about the effect of the command, for the message if the text cannot be written; nil
    ///   if the command has changed nothing.
    /// - Throws: `OutputError`.
    static func write(_ text: TerminalText, after effect: String? = nil) throws(OutputError) {
        guard let code = ProgramOutput.write(text) else { return }
        if code == EPIPE { Foundation.exit(ProgramOutput.brokenPipeStatus) }
        let reason = String(cString: strerror(code))
        throw OutputError(
            description: effect.map { "\($0), but the output cannot be written: \(reason)" }
                ?? "cannot write the output: \(reason)")
    }
}

struct OutputError: Error, CustomStringConvertible {
    let description: String
}
