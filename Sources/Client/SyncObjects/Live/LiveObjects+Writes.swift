import SyncConcurrency
import SyncCore
import SyncModel

/// Writing. Each write is one transaction of the source. Writes that arrive while others are made durable form a group,
/// which the source makes durable together.
extension LiveObjects {
    func create(_ cell: LiveCell) async throws(ModelError) -> Receipt {
        try await carryOut(.create(cell.current))
    }

    func save(_ cell: LiveCell) async throws(ModelError) -> Receipt {
        try await carryOut(.write([cell.current], deleting: []))
    }

    func delete(_ cell: LiveCell) async throws(ModelError) -> Receipt {
        try await carryOut(.write([], deleting: [cell.current]))
    }

    /// Writes the changes that `body` makes. See `ModelAccess.write(_:)`.
    ///
    /// The edits are staged on objects that other tasks may save. Between the first edit and the write, no other write
    /// may collect them, because it would write a part of the transaction.
    func write(_ body: (ModelTransaction) throws -> Void) async throws -> Receipt {
        try await writes.withLock { () async throws in
            let transaction = ModelTransaction(self)
            do {
                try body(transaction)
                let (written, deleted) = try transaction.steps()
                let prepared = try prepare(
                    written.map(\.current), deleting: deleted.map(\.current), transaction.log)
                guard !prepared.edits.isEmpty else { return finish(prepared, nil) }
                return finish(prepared, try await writeWithWaiting(prepared))
            } catch {
                transaction.log.undo()
                throw error
            }
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
            let log = edit.transaction.log
            do {
                var hidden = log.replaced
                try log.record { () throws in
                    try edit.stage(rejected)
                    hidden = log.replaced
                    try body(edit)
                }
                let (written, deleted) = try edit.transaction.steps()
                let prepared = try prepare(written.map(\.current), deleting: deleted.map(\.current), log)
                let ticket = try await source.write(
                    prepared.edits.map(\.edit), correcting: edit.correction(of: entry), now: runtime.now())
                defer { hidden.stage() }
                return finish(prepared, prepared.edits.isEmpty ? nil : ticket)
            } catch {
                log.undo()
                throw error
            }
        }
    }

    // MARK: Groups

    /// Carries out a write, perhaps together with those of others.
    ///
    /// The write takes its place in the queue, and without contention collects its edits, on the actor of the caller.
    /// So the calls of one actor keep their order, and other code of the actor cannot change the edits meanwhile.
    private func carryOut(_ work: WaitingWrite.Work) async throws(ModelError) -> Receipt {
        // Without groups, a task carries out its own write only, whose request ends if that task is cancelled.
        guard source.largestWriteGroup > 1 else { return try await carryOutAlone(work) }
        let write = WaitingWrite(work)
        waitingWrites.withLock { $0.append(write) }
        let receipt = try await writes.withLockIfFree { () async throws(ModelError) in try await result(of: write) }
        if let receipt { return receipt }
        return try await waitForResult(of: write)
    }

    @concurrent private func carryOutAlone(_ work: WaitingWrite.Work) async throws(ModelError) -> Receipt {
        try await writes.withLock { () async throws(ModelError) in
            let prepared = try prepare(work)
            guard !prepared.edits.isEmpty else { return finish(prepared, nil) }
            return finish(prepared, try await source.write(prepared.edits.map(\.edit), now: runtime.now()))
        }
    }

    /// Waits for the lock, and writes what is left. Runs on no actor, because the actor of one caller may be too busy
    /// to write for all.
    @concurrent private func waitForResult(of write: WaitingWrite) async throws(ModelError) -> Receipt {
        try await writes.withLock { () async throws(ModelError) in try await result(of: write) }
    }

    /// Writes groups until the write has a result. Another task may have carried it out with its own.
    private func result(of write: WaitingWrite) async throws(ModelError) -> Receipt {
        while true {
            if let result = write.result { return try result.get() }
            await writeNextGroup()
        }
    }

    /// Writes a transaction, together with waiting writes that have no object in common with it.
    private func writeWithWaiting(_ prepared: PreparedWrite) async throws(ModelError) -> WriteTicket {
        let own = prepared.edits.map(\.edit)
        guard source.largestWriteGroup > 1 else { return try await source.write(own, now: runtime.now()) }
        let group = takeGroup(upTo: source.largestWriteGroup - 1, besides: prepared.cells)
        let results = await source.write(
            together: [own] + group.map { $0.prepared.edits.map(\.edit) }, now: runtime.now())
        precondition(results.count == group.count + 1, "a source returns a result for each transaction")
        end(group, results.dropFirst())
        return try results[0].get()
    }

    /// Writes the longest group of waiting writes that have no object in common.
    private func writeNextGroup() async {
        let group = takeGroup(upTo: source.largestWriteGroup)
        guard !group.isEmpty else { return }
        let results = await source.write(
            together: group.map { $0.prepared.edits.map(\.edit) }, now: runtime.now())
        precondition(results.count == group.count, "a source returns a result for each transaction")
        end(group, results[...])
    }

    private typealias PreparedGroup = [(write: WaitingWrite, prepared: PreparedWrite)]

    private func end(_ group: PreparedGroup, _ results: ArraySlice<Result<WriteTicket, ModelError>>) {
        for ((write, prepared), result) in zip(group, results) { write.end(result.map { finish(prepared, $0) }) }
    }

    /// Takes the longest group of waiting writes that have no object in common. Writes with nothing to write are ended.
    ///
    /// - Parameter cells: the objects that the group may not touch.
    private func takeGroup(upTo limit: Int, besides cells: Set<ObjectIdentifier> = []) -> PreparedGroup {
        var group: PreparedGroup = []
        var touched = cells
        while group.count < limit, let next = waitingWrites.withLock({ $0.first }) {
            guard touched.isDisjoint(with: next.work.cells.lazy.map { ObjectIdentifier($0) }) else { break }
            do throws(ModelError) {
                let prepared = try prepare(next.work)
                guard touched.isDisjoint(with: prepared.cells) else { break }
                touched.formUnion(prepared.cells)
                if prepared.edits.isEmpty {
                    next.end(.success(finish(prepared, nil)))
                } else {
                    group.append((next, prepared))
                }
            } catch {
                next.end(.failure(error))
            }
            waitingWrites.withLock { _ = $0.removeFirst() }
        }
        return group
    }

    private func prepare(_ work: WaitingWrite.Work) throws(ModelError) -> PreparedWrite {
        switch work {
        case .write(let roots, let deleted): return try prepare(roots, deleting: deleted)
        case .create(let cell):
            switch cell.presence {
            case .draft: return try prepare([cell], deleting: [])
            case .gone where cell.creation == nil:
                throw ModelError(.gone, "\(cell.label) was deleted: make a new object to create it")
            case .here, .gone:
                // Created before, perhaps together with another object.
                guard let creation = cell.creation else {
                    throw ModelError(.alreadyExists, "\(cell.label) exists already: save() writes its changes")
                }
                return PreparedWrite(cells: [ObjectIdentifier(cell)], first: cell, repeated: creation)
            case .awaited, .notHere: throw cell.nothingHere
            }
        }
    }

    /// Collects the edits of these cells and of all drafts that they refer to, and the deletions.
    ///
    /// - Parameter log: the edits of a transaction, which it writes even if somebody has taken them back since.
    private func prepare(
        _ roots: [LiveCell], deleting deleted: [LiveCell], _ log: EditLog? = nil
    ) throws(ModelError) -> PreparedWrite {
        // A placeholder may have been redirected while the write waited for its turn.
        let (roots, deleted) = (roots.map(\.current), Self.distinct(deleted.map(\.current)))
        let removed = Set(deleted.map { ObjectIdentifier($0) })
        var prepared = PreparedWrite(cells: removed, first: roots.first ?? deleted.first)
        for cell in drafts(from: roots) where !removed.contains(ObjectIdentifier(cell)) {
            prepared.cells.insert(ObjectIdentifier(cell))
            if let edit = try cell.edit(log?.edits(of: cell) ?? [:]) {
                prepared.edits.append((cell, edit))
            } else if let last = try unconfirmedWrite(of: cell) {
                // Another save may have written the edits of this caller.
                prepared.earlier.append(last)
            }
        }
        for cell in deleted {
            switch cell.presence {
            case .draft: prepared.discarded.append(cell)
            case .here:
                guard let id = cell.id else { continue }
                let (shown, seen) = cell.shownToAuthors
                prepared.edits.append((cell, ModelEdit(.delete(cell.collection, id), shown: shown, seen: seen)))
            case .awaited, .notHere: throw cell.nothingHere
            case .gone: if let last = try unconfirmedWrite(of: cell) { prepared.earlier.append(last) }
            }
        }
        return prepared
    }

    private static func distinct(_ cells: [LiveCell]) -> [LiveCell] {
        var known: Set<ObjectIdentifier> = []
        return cells.filter { known.insert(ObjectIdentifier($0)).inserted }
    }

    /// Returns the last write of an object if the server has not confirmed it.
    private func unconfirmedWrite(of cell: LiveCell) throws(ModelError) -> Written? {
        guard let last = cell.lastWrite, let id = cell.id, try source.isPending(cell.collection, id) else { return nil }
        return last
    }

    /// Shows a write that has succeeded.
    ///
    /// - Parameter ticket: the source's ticket; nil if there were no edits.
    private func finish(_ prepared: PreparedWrite, _ ticket: WriteTicket?) -> Receipt {
        let receipt: Receipt
        if let ticket {
            let written = Written(ticket: ticket, edits: prepared.edits.map(\.edit.edit))
            show(prepared.edits, written)
            receipt = Receipt(
                objects: self, cell: prepared.edits.first?.cell, written: written, earlier: prepared.earlier)
        } else {
            receipt = Receipt(
                objects: self, cell: prepared.first, written: prepared.repeated, earlier: prepared.earlier)
        }
        // Last, so that a transaction that fails keeps its drafts.
        for cell in prepared.discarded { discard(cell) }
        return receipt
    }

    private func show(_ edits: [(cell: LiveCell, edit: ModelEdit)], _ written: Written) {
        var change = StoreChange()
        for (cell, edit) in edits {
            let id = edit.edit.record
            cell.written(edit.edit, written, beginRead())
            cell.group?.root.remove(id)
            if let record = written.ticket.shown[edit.edit.address] { cell.show(.here(record), beginRead()) }
            change.touch(cell.collection, id)
        }
        refresh(edits.map(\.cell))
        changes.publish(change)
    }

    private func discard(_ draft: LiveCell) {
        draft.drop()
        if let id = draft.id { draft.group?.root.remove(id) }
        // No source knows the draft, so nothing else tells the sequences over it that it is gone.
        publish(draft)
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
