/// The reason why a recording cannot be read.
package struct RecordingError: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// The file is not a recording, or it violates the format.
        case malformed
        /// A newer build wrote the recording.
        case newer
        /// The file was changed after its export, or it is truncated.
        case damaged
    }

    package let code: Code
    /// The line number, counted from 1; nil when the problem concerns the whole file.
    package let line: Int?
    /// States what was found and what was expected.
    package let problem: String

    package init(_ code: Code, line: Int? = nil, _ problem: String) {
        self.code = code
        self.line = line
        self.problem = problem
    }

    init(line: Int? = nil, _ problem: String) {
        self.init(.malformed, line: line, problem)
    }

    func at(line: Int) -> RecordingError {
        RecordingError(code, line: self.line ?? line, problem)
    }
}

extension RecordingError: CustomStringConvertible {
    package var description: String {
        line.map { "line \($0): \(problem)" } ?? problem
    }
}
