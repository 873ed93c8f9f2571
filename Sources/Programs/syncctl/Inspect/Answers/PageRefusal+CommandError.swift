import LoopbackPage
import SyncModel

extension PageError {
    /// Creates the refusal for any error, with the sentences that the commands print.
    init(wrapping error: any Error) {
        if let refusal = error as? PageError {
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
}
