import Foundation
import SyncProgram

/// The answer of a command on standard output.
enum ServerOutput {
    /// - Throws: `OutputError`. When the reader has gone (`| head`), the program ends quietly, as others do.
    static func write(_ text: TerminalText) throws(OutputError) {
        guard let code = ProgramOutput.write(text) else { return }
        if code == EPIPE { Foundation.exit(ProgramOutput.brokenPipeStatus) }
        throw OutputError(description: "cannot write the output: \(String(cString: strerror(code)))")
    }
}

struct OutputError: Error, CustomStringConvertible {
    let description: String
}
