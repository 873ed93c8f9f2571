import Foundation
import SyncProgram

/// The answer of a command on standard output.
enum Answer {
    /// - Throws: `AnswerFailure`. When the reader has gone (`| head`), the program ends quietly, as others do.
    static func write(_ text: TerminalText) throws(AnswerFailure) {
        guard let code = ProgramOutput.answer(text) else { return }
        if code == EPIPE { Foundation.exit(ProgramOutput.brokenPipeStatus) }
        throw AnswerFailure(description: "the answer cannot be written: \(String(cString: strerror(code)))")
    }
}

struct AnswerFailure: Error, CustomStringConvertible {
    let description: String
}
