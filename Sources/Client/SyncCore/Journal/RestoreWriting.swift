package import SyncModel

/// The transactions that restore a journal entry, in writing order, and what follows when the store refuses one.
///
/// A transaction that exceeds the limits is written in several. The parts of a lost entry stand alone: when the
/// current models forbid one, or it is too large, the others are written nevertheless, except those that depend on it.
/// Any other refusal ends the restore.
package struct RestoreWriting: Sendable {
    private struct Part {
        let edits: [RecordEdit]
        /// The changes that the edits restore, if other parts do not depend on their success; nil otherwise.
        let changes: [Mutation]?
    }

    private let catalog: SchemaCatalog
    private let partCount: Int
    private var parts: ArraySlice<Part>
    private var current: Part?
    /// Transactions of the current part that are still to be written.
    private var waiting: ArraySlice<[RecordEdit]> = []
    /// The edits that `next` has returned last.
    private var last: [RecordEdit] = []
    private var isSplit = false
    private var refusedCount = 0
    private var firstRefusal: StoreError?
    /// The records that refused parts would have created.
    private var missing: Set<RecordAddress> = []
    private var left: [Mutation]

    /// Starts to write the transactions of a plan.
    package init(_ plan: RestorePlan) {
        let parts =
            plan.parts.isEmpty
            ? plan.transactions.map { Part(edits: $0, changes: nil) }
            : zip(plan.transactions, plan.parts).map { Part(edits: $0, changes: $1) }
        self.init(parts, leaving: plan.postponed, plan.records.catalog)
    }

    /// Starts to write edits that must all succeed.
    package init(_ edits: [RecordEdit], _ catalog: SchemaCatalog) {
        self.init([Part(edits: edits, changes: nil)], leaving: [], catalog)
    }

    private init(_ parts: [Part], leaving postponed: [Mutation], _ catalog: SchemaCatalog) {
        self.catalog = catalog
        self.parts = parts[...]
        partCount = parts.count
        left = postponed
    }

    /// Returns the edits of the next transaction, or nil after the last one.
    ///
    /// A caller that cannot write them reports the error to `refused` before the next call.
    package mutating func next() -> [RecordEdit]? {
        while waiting.isEmpty {
            guard let part = parts.popFirst() else { return nil }
            current = part
            isSplit = false
            if let changes = part.changes, part.edits.contains(where: needsMissing) {
                leave(part, changes)
            } else {
                waiting = [part.edits]
            }
        }
        last = waiting.removeFirst()
        return last
    }

    /// Decides what follows the refusal of the transaction that `next` returned last. The refusal has changed nothing.
    ///
    /// - Throws: The error, when nothing of the entry may be written.
    package mutating func refused(_ error: StoreError) throws(StoreError) {
        guard let part = current else { throw error }
        if error.code == .tooLarge {
            if !isSplit {
                isSplit = true
                waiting = part.edits.inParts(catalog)[...]
                if waiting.count > 1 { return }
                last = waiting.popFirst() ?? []
            }
            // The values that the updates replace count, too, and only the store knows them. Creates, which come first,
            // stay together, and so do deletes.
            if let border = last.border {
                waiting = ([Array(last[..<border]), Array(last[border...])] + waiting)[...]
                return
            }
        }
        guard let changes = part.changes, error.code == .invalidValue || error.code == .tooLarge else { throw error }
        let refusal = changes.count == 1 ? StoreError(error.code, "\(changes[0].address): \(error.message)") : error
        firstRefusal = firstRefusal ?? refusal
        leave(part, changes)
    }

    /// Returns the changes of the entry that were not written and stay in the journal.
    ///
    /// - Throws: The first refusal, when nothing was written.
    package func rest() throws(StoreError) -> [Mutation] {
        if let firstRefusal, refusedCount == partCount { throw firstRefusal }
        return left
    }

    private mutating func leave(_ part: Part, _ changes: [Mutation]) {
        waiting = []
        refusedCount += 1
        left += changes
        for case .create(let collection, let id, _) in part.edits { missing.insert(RecordAddress(collection, id)) }
    }

    /// Whether an edit changes a record that a refused part would have created, or refers to one.
    private func needsMissing(_ edit: RecordEdit) -> Bool {
        guard !missing.isEmpty else { return false }
        if missing.contains(RecordAddress(edit.collection, edit.record)) { return true }
        return edit.patch.contains { name, value in
            guard case .reference(let id) = value,
                let target = catalog[edit.collection]?.field(named: name)?.target
            else { return false }
            return missing.contains(RecordAddress(target, id))
        }
    }
}

extension [RecordEdit] {
    /// The position at which edits that are too large are split: where the updates begin or end, or in the middle if
    /// all are updates. Nil if the edits must stay together.
    fileprivate var border: Int? {
        guard let first, let border = firstIndex(where: { $0.isUpdate != first.isUpdate }) else {
            return count > 1 && first?.isUpdate == true ? count / 2 : nil
        }
        return border
    }
}

extension RecordEdit {
    fileprivate var isUpdate: Bool { if case .update = self { true } else { false } }
}
