import SyncConcurrency
import SyncCore
import SyncModel

/// Writing: one write at a time. Each write is one transaction of the source.
extension LiveObjects {
    func create(_ cell: LiveCell) async throws(ModelError) -> Receipt {
        try await writes.withLock { () async throws(ModelError) in
            switch cell.presence {
            case .draft: return try await write([cell])
            case .gone where cell.creation == nil:
                throw ModelError(.gone, "\(cell.label) was deleted: make a new object to create it")
            case .here, .gone:
                // Created before, perhaps together with another object.
                guard let creation = cell.creation else {
                    throw ModelError(.alreadyExists, "\(cell.label) exists already: save() writes its changes")
                }
                return Receipt(objects: self, cell: cell, written: creation)
            case .awaited, .notHere: throw cell.nothingHere
            }
        }
    }

    func save(_ cell: LiveCell) async throws(ModelError) -> Receipt {
        try await writes.withLock { () async throws(ModelError) in try await write([cell]) }
    }

    func delete(_ cell: LiveCell) async throws(ModelError) -> Receipt {
        try await writes.withLock { () async throws(ModelError) in try await write([], deleting: [cell]) }
    }

    func write(_ transaction: ModelTransaction) async throws(ModelError) -> Receipt {
        try await writes.withLock { () async throws(ModelError) in
            let (written, deleted) = try transaction.steps()
            return try await write(written, deleting: deleted)
        }
    }

    /// Writes corrected values in place of a journal entry. See `RejectedWrite.edit`.
    ///
    /// Corrections of one entry stage values on the same objects, so only one at a time does that.
    ///
    /// - Parameter rejected: The transaction of the entry.
    func correct(
        _ rejected: Transaction, of entry: Int64, _ body: (RejectedEdit) throws -> Void
    ) async throws -> Receipt {
        try await writes.withLock { () async throws in
            // The write checks again. This check keeps the values of a decided entry from being shown at all.
            try requireUndecided(journal: entry)
            let edit = RejectedEdit(self)
            do {
                try edit.stage(rejected)
                try body(edit)
                edit.finishStaging()
                let (written, deleted) = try edit.transaction.steps()
                return try await write(written, deleting: deleted, correcting: edit.correction(of: entry))
            } catch {
                edit.unstage()
                throw error
            }
        }
    }

    /// Writes the edits of these cells and of all drafts that they refer to, and the deletions, in one transaction.
    private func write(
        _ roots: [LiveCell], deleting deleted: [LiveCell] = [], correcting correction: JournalCorrection? = nil
    ) async throws(ModelError) -> Receipt {
        let removed = Set(deleted.map { ObjectIdentifier($0) })
        var edits: [(LiveCell, ModelEdit)] = []
        var discarded: [LiveCell] = []
        for cell in drafts(from: roots) where !removed.contains(ObjectIdentifier(cell)) {
            if let edit = try cell.edit() { edits.append((cell, edit)) }
        }
        for cell in deleted {
            switch cell.presence {
            case .draft: discarded.append(cell)
            case .here:
                guard let id = cell.id else { continue }
                edits.append((cell, ModelEdit(.delete(cell.collection, id), shown: cell.shown)))
            case .awaited, .notHere: throw cell.nothingHere
            case .gone: continue
            }
        }
        let receipt: Receipt
        if edits.isEmpty {
            if let correction { _ = try await source.write([], correcting: correction, now: runtime.now()) }
            receipt = Receipt(objects: self, cell: roots.first ?? deleted.first, written: nil)
        } else {
            receipt = try await commit(edits, correcting: correction)
        }
        // Last, so that a transaction that fails keeps its drafts.
        for cell in discarded { discard(cell) }
        return receipt
    }

    private func discard(_ draft: LiveCell) {
        draft.drop()
        if let id = draft.id { draft.group.root.remove(id) }
        // No source knows the draft, so nothing else tells the sequences over it that it is gone.
        publish(draft)
    }

    private func commit(
        _ edits: [(cell: LiveCell, edit: ModelEdit)], correcting correction: JournalCorrection?
    ) async throws(ModelError) -> Receipt {
        let ticket =
            if let correction {
                try await source.write(edits.map(\.edit), correcting: correction, now: runtime.now())
            } else {
                try await source.write(edits.map(\.edit), now: runtime.now())
            }
        let written = Written(ticket: ticket, edits: edits.map(\.edit.edit))
        var change = StoreChange()
        for (cell, edit) in edits {
            let id = edit.edit.record
            cell.written(edit.edit, written, beginRead())
            cell.group.root.remove(id)
            if let record = ticket.shown[id] { cell.show(.here(record), beginRead()) }
            change.touch(cell.collection, id)
        }
        refresh(edits.map(\.cell))
        changes.publish(change)
        return Receipt(objects: self, cell: edits.first?.cell, written: written)
    }

    /// Returns these cells, and the cells of all drafts that they refer to, directly or through other drafts.
    private func drafts(from roots: [LiveCell]) -> [LiveCell] {
        var found: [LiveCell] = []
        var known: Set<ObjectIdentifier> = []
        for root in roots where known.insert(ObjectIdentifier(root)).inserted { found.append(root) }
        var next = 0
        while next < found.count {
            for cell in cells(found[next].references)
            where cell.presence == .draft && known.insert(ObjectIdentifier(cell)).inserted {
                found.append(cell)
            }
            next += 1
        }
        return found
    }

    /// Waits until the server has the write, and then reads the records of the transaction again.
    func confirm(_ written: Written) async throws(ModelError) {
        try await source.confirm(written.ticket)
        refresh(cells(written.records))
    }
}
