import SyncModel
import SyncProgram

/// The reason why a request gets no result: an HTTP status, one sentence for the page, and advice.
struct InspectRefusal: Error, Hashable {
    let status: Int
    let message: String
    var advice: String?
    /// The problems of single fields, in the order of the schema.
    var fields: [FieldProblem] = []
    /// The method to use instead, for status 405.
    var allowedMethod: String?

    struct FieldProblem: Hashable {
        let field: String
        let message: String
    }

    init(_ status: Int, _ message: String, advice: String? = nil) {
        self.status = status
        self.message = message
        self.advice = advice
    }

    /// Creates the refusal for any error, with the sentences that the commands print.
    init(wrapping error: any Error) {
        if let refusal = error as? InspectRefusal {
            self = refusal
            return
        }
        let failure = CommandError(wrapping: error)
        let status =
            switch failure.status {
            case .usage: 400
            case .machine: 503
            case .noStore, .configuration: 500
            default: 422
            }
        self.init(status, failure.message, advice: failure.advice)
        if let field = failure.field { fields = [.init(field: field.rawValue, message: failure.message)] }
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
