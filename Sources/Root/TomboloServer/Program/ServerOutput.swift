import Foundation
import SyncProgram

/// Writes the output of a server command.
enum ServerOutput {
    /// Writes a text to standard output.
    ///
    /// - Parameter effect: a clause about the effect of the command, for the message if the text cannot be written; nil
    ///   if the command has changed nothing.
    /// - Throws: `OutputError`, even when the reader has gone (`| head`), so that the command can undo its effect.
    static func write(_ text: TerminalText, after effect: String? = nil) throws(OutputError) {
        guard let code = ProgramOutput.write(text) else { return }
        let reason = String(cString: strerror(code))
        throw OutputError(
            description: effect.map { "\($0), but the output cannot be written: \(reason)" }
                ?? "cannot write the output: \(reason)",
            readerHasGone: code == EPIPE)
    }
}

struct OutputError: Error, CustomStringConvertible {
    let description: String
    /// Whether nobody reads the output any more. The program then exits without a message.
    let readerHasGone: Bool
}
