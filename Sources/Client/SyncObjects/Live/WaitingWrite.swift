import SyncConcurrency
import SyncModel

/// A write of live objects that waits for its turn, until it has a result.
final class WaitingWrite: Sendable {
    enum Work: Sendable {
        /// Creates a draft, unless another write has created it.
        case create(LiveCell)
        /// Writes the edits of objects, and deletes others.
        case write([LiveCell], deleting: [LiveCell])

        /// The objects that the caller has named. The write may touch more: the drafts that these objects refer to.
        var cells: [LiveCell] {
            switch self {
            case .create(let cell): [cell]
            case .write(let written, let deleted): written + deleted
            }
        }
    }

    let work: Work
    private let outcome = Guarded<Result<Receipt, ModelError>?>(nil)

    init(_ work: Work) {
        self.work = work
    }

    /// The result; nil while the write waits.
    var result: Result<Receipt, ModelError>? { outcome.withLock { $0 } }

    func end(_ result: Result<Receipt, ModelError>) {
        outcome.withLock { $0 = result }
    }
}

/// A write whose edits have been collected and checked.
struct PreparedWrite {
    var edits: [(cell: LiveCell, edit: ModelEdit)] = []
    /// Drafts to discard after the write.
    var discarded: [LiveCell] = []
    /// All objects that the write touches.
    var cells: Set<ObjectIdentifier> = []
    /// The object of the receipt when there are no edits.
    var first: LiveCell?
    /// The earlier write that has already done what this one was to do.
    var repeated: Written?
    /// The last writes of objects without edits, if they are not confirmed.
    var earlier: [Written] = []
}
