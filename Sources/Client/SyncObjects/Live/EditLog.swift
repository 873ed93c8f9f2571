import SyncConcurrency
import SyncModel

/// The edits that the body of a transaction has staged, which are taken back if the transaction fails.
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
    func record(_ body: () -> Void) {
        let outer = thread.withLock { thread in
            defer { thread = .current }
            return thread
        }
        defer { thread.withLock { $0 = outer } }
        Self.$inherited.withValue(self, operation: body)
    }

    private struct Change: Sendable {
        let cell: LiveCell
        let field: FieldName
        let before: LiveCell.StagedField
        var after: LiveCell.StagedField
    }

    private let changes = Guarded<[Change]>([])

    /// Notes that a field of a cell was set.
    func note(_ cell: LiveCell, _ field: FieldName, from before: LiveCell.StagedField, to after: LiveCell.StagedField) {
        changes.withLock { changes in
            if let known = changes.firstIndex(where: { $0.cell === cell && $0.field == field }) {
                changes[known].after = after
            } else {
                changes.append(Change(cell: cell, field: field, before: before, after: after))
            }
        }
    }

    /// Returns the edits of a cell that the log has. Somebody else may have taken them back since.
    func edits(of cell: LiveCell) -> [FieldName: LiveCell.StagedField] {
        let own = changes.withLock { $0.filter { $0.cell === cell } }
        return Dictionary(own.map { ($0.field, $0.after) }) { _, last in last }
    }

    /// Gives the fields the edits that they had before. A field that somebody else has set since keeps that value.
    ///
    /// - Parameter others: The cells whose edits the caller restores.
    func undo(except others: [LiveCell]) {
        let changes = changes.withLock { $0 }
        for change in changes.reversed() where !others.contains(where: { $0 === change.cell }) {
            change.cell.restage(change.field, change.before, replacing: change.after)
        }
    }
}
