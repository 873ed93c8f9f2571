import SyncConcurrency
import SyncModel

/// The edits that the body of a transaction or correction has staged, which are taken back if it fails.
///
/// Other tasks may edit the same objects meanwhile. Their edits are not in the log, even if the body has started them.
final class EditLog: Sendable {
    /// The log of the transaction whose body has called this code, or has started this task.
    @TaskLocal private static var inherited: EditLog?
    /// The thread on which a body runs; nil while none does.
    private let thread = Guarded<ThreadIdentity?>(nil)

    /// The log of the transaction in whose body this code runs; nil outside of one.
    static var current: EditLog? {
        guard let log = inherited, log.thread.withLock({ $0 }) == .current else { return nil }
        return log
    }

    /// Calls a body whose edits belong to the log.
    func record<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
        let outer = thread.withLock { thread in
            defer { thread = .current }
            return thread
        }
        defer { thread.withLock { $0 = outer } }
        let result = Self.$inherited.withValue(self) { Result(catching: body) }
        try result.get()
    }

    /// The fields of a cell that were set, each with its edit before the first and after the last time.
    private struct Change: Sendable {
        let cell: LiveCell
        var fields: [FieldName: (before: LiveCell.StagedField, after: LiveCell.StagedField)] = [:]
    }

    private let changes = Guarded<[ObjectIdentifier: Change]>([:])

    /// Notes that a field of a cell was set.
    func note(_ cell: LiveCell, _ field: FieldName, from before: LiveCell.StagedField, to after: LiveCell.StagedField) {
        changes.withLock { changes in
            let first = changes[ObjectIdentifier(cell)]?.fields[field]?.before ?? before
            changes[ObjectIdentifier(cell), default: Change(cell: cell)].fields[field] = (first, after)
        }
    }

    /// Returns the edits of a cell that the log has. Somebody else may have taken them back since.
    func edits(of cell: LiveCell) -> [FieldName: LiveCell.StagedField] {
        changes.withLock { $0[ObjectIdentifier(cell)]?.fields.mapValues(\.after) ?? [:] }
    }

    /// The edits that the log has replaced so far. The defaults of drafts are not among them.
    var replaced: ReplacedEdits {
        let changes = changes.withLock { Array($0.values) }.filter { $0.cell.presence != .draft }
        return ReplacedEdits(
            edits: changes.map { change in (change.cell, change.fields.mapValues(\.before).filter { !$0.value.isEmpty })
            })
    }

    /// Edits that were replaced by those of a log.
    struct ReplacedEdits: Sendable {
        fileprivate let edits: [(cell: LiveCell, fields: [FieldName: LiveCell.StagedField])]

        /// Stages the edits again, in fields that have no edit.
        func stage() {
            for (cell, fields) in edits where !fields.isEmpty { cell.current.stageAgain(fields) }
        }
    }

    /// Gives the fields the edits that they had before. A field that somebody else has set since keeps that value.
    func undo() {
        for change in changes.withLock({ $0.values }) {
            for (field, edit) in change.fields { change.cell.restage(field, edit.before, replacing: edit.after) }
        }
    }
}
