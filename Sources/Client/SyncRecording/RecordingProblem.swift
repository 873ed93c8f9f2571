/// Why a recording cannot be read.
package struct RecordingProblem: Error, Hashable, Sendable {
    package enum Code: Hashable, Sendable {
        /// It is no recording, or one that breaks the rules of the format.
        case malformed
        /// A newer build has written it.
        case newer
        /// It was changed after its export, or cut.
        case damaged
    }

    package let code: Code
    /// Counted from 1; nil when it is about the whole.
    package let line: Int?
    /// Says what was found and what was expected.
    package let problem: String

    package init(_ code: Code, line: Int? = nil, _ problem: String) {
        self.code = code
        self.line = line
        self.problem = problem
    }

    init(line: Int? = nil, _ problem: String) {
        self.init(.malformed, line: line, problem)
    }

    func at(line: Int) -> RecordingProblem {
        RecordingProblem(code, line: self.line ?? line, problem)
    }
}

extension RecordingProblem: CustomStringConvertible {
    package var description: String {
        line.map { "line \($0): \(problem)" } ?? problem
    }
}
