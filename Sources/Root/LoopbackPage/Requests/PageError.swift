import SyncProgram

/// The reason why a request gets no result: an HTTP status, one sentence for the page, and advice.
package struct PageError: Error, Hashable {
    package let status: Int
    package let message: String
    package var advice: String?
    /// The problems of single fields, in the order of the schema.
    package var fields: [FieldProblem] = []
    /// The method to use instead, for status 405.
    var allowedMethod: String?

    package struct FieldProblem: Hashable, Sendable {
        package let field: String
        package let message: String

        package init(field: String, message: String) {
            self.field = field
            self.message = message
        }
    }

    package init(_ status: Int, _ message: String, advice: String? = nil) {
        self.status = status
        self.message = message
        self.advice = advice
    }

    /// The refusal as the body of a response.
    var line: JSONLine {
        var line = JSONLine()
        line.set("error", message)
        line.set("advice", advice)
        if !fields.isEmpty {
            var problems = JSONLine()
            for problem in fields { problems.set(problem.field, problem.message) }
            line.set("fields", problems)
        }
        return line
    }
}
