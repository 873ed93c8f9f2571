import SyncConcurrency
import SyncCore
import SyncModel

/// The user of a device.
///
/// Performs an application's operations on the local store, checks that the device reads what it wrote, and reports to
/// the oracles what the store returned.
struct SimulatedUser: Sendable {
    let device: SimulatedDevice
    let store: SimulatedDevice.Store
    let history: History
    let journals: JournalOracle
    let oracle: UserOracle
    let simulation: Simulation
    let forms: Guarded<[String: RecordForm]>
    let corrections: Guarded<[String: CorrectedRecords]>

    func carryOut(_ operation: Workload.Operation) throws {
        let now = device.wallClock.now
        switch operation {
        case .write(let edits, let space): try write(edits, in: space, now: now)
        case .series(let transactions, let space):
            for edits in transactions { try write(edits, in: space, now: now) }
        case .open(let address): try open(address)
        case .submit(let edit, let form):
            forms.withLock { $0[device.name] = nil }
            guard form.life == device.life else { return }
            try write([edit], in: form.space, now: now, by: form)
        case .cancel(let back):
            let before = try store.outbox(limit: .max)
            let waiting = before.filter(\.isUnsent)
            guard !waiting.isEmpty else { return }
            let chosen = waiting[max(waiting.count - 1 - back, 0)].sequence
            let kept: Set<OutboxSequence>
            do {
                try store.cancel(chosen, now: now)
                kept = Set(try store.outbox(limit: .max).map(\.sequence))
            } catch {
                // The cancellation, and that of all dependent transactions, may have taken effect despite the error.
                history.cancelled(Set(before.map(\.sequence)), on: device.name)
                oracle.cancelled(on: device.name)
                throw error
            }
            history.cancelled(Set(before.map(\.sequence)).subtracting(kept), on: device.name)
            oracle.cancelled(on: device.name)
            simulation.note("cancels \(chosen)", by: device.name)
            guard !kept.contains(chosen) else {
                throw Violation(.I1, "\(device.name) still holds \(chosen) after it was cancelled")
            }
        case .restoreNewest:
            guard let entry = try store.journal(state: .active, limit: 1).first else { return }
            try restore(entry, now: now)
        case .restore(let number): if let entry = try store.journalEntry(number) { try restore(entry, now: now) }
        case .retry(let number):
            if let entry = try store.journalEntry(number) { try restore(entry, now: now, isRetry: true) }
        case .correct(let correction, let edits, let space): try correct(correction, with: edits, in: space, now: now)
        case .restoreLost: try restoreLost(now: now)
        case .dismissNewest:
            guard let entry = try store.journal(state: .active, limit: 1).first else { return }
            saw(entry)
            oracle.saw(entry, on: device.name)
            try store.dismiss(journal: entry.number)
            simulation.note("dismisses \(entry.number)", by: device.name)
        case .dismissOldest: try dismissOldest()
        case .rejoin(let space): try rejoin(space)
        }
    }

    /// Writes edits in one transaction.
    ///
    /// - Parameter form: what the user sees of the record; nil if that is what the device shows.
    private func write(_ edits: [RecordEdit], in space: SpaceID, now: WallTime, by form: RecordForm? = nil) throws {
        let stored = try read(edits.map(\.address))
        let shown = form.map { stored.merging([$0.address: $0.record]) { $1 } } ?? stored
        let open = try device.disk.withoutFaults { try store.outboxSummary().activeJournalEntries }
        let sequence: OutboxSequence?
        do {
            sequence = try store.commit(edits, seen: seen(by: edits, in: form), in: space, now: now)
        } catch {
            history.mayHaveCommitted(on: device.name)
            oracle.failed(edits, in: space, on: device.name, having: shown, over: stored, error)
            try checkIsTrue(error, of: edits, in: space, withOpen: open)
            throw error
        }
        guard let sequence else { return }
        if device.storage.hasSmallJournal, open >= DeviceStorage.smallJournal.entries {
            throw Violation(.I19, "\(device.name) takes an edit although \(open) entries of its journal are open")
        }
        history.committed(sequence, on: device.name)
        oracle.saved(edits, in: space, on: device.name, having: shown, over: stored)
        simulation.note(
            "commits \(sequence): \(edits.map(\.words).joined(separator: ", "))\(form == nil ? "" : ", in a form")",
            by: device.name, as: .commit)
        try checkReadsItsWrites(edits.combined)
        try checkWritesAreTogether(edits, at: sequence)
    }

    private func seen(by edits: [RecordEdit], in form: RecordForm?) -> SeenFields {
        guard let form, let schema = store.catalog[form.address.collection] else { return [:] }
        return Dictionary(
            edits.filter { $0.address == form.address }.map { ($0.address, form.seen(by: $0, in: schema)) }
        ) { $0.merging($1) { first, _ in first } }
    }

    /// Reads a record to edit it later.
    private func open(_ address: RecordAddress) throws {
        guard let record = try store.record(address.collection, .id(address.id)),
            let space = try store.space(of: address.collection, address.id)
        else { return }
        let form = RecordForm(address: address, space: space, record: record, life: device.life)
        forms.withLock { $0[device.name] = form }
        simulation.note("opens \(address)", by: device.name)
    }

    /// Handles the older half of the open entries, in one transaction.
    private func dismissOldest() throws {
        let open = Array(try store.wholeJournal().filter { $0.state == .active }.reversed())
        let handled = open.prefix((open.count + 1) / 2)
        guard let last = handled.last else { return }
        for entry in handled {
            saw(entry)
            oracle.saw(entry, on: device.name)
        }
        let count = try store.dismissJournal(upTo: last.number)
        simulation.note("dismisses \(count) entries up to \(last.number)", by: device.name)
        guard count == handled.count else {
            throw Violation(.I1, "\(device.name) dismissed \(count) entries of its journal, not \(handled.count)")
        }
    }

    /// Stops following a space, unless only this device has something of it, and follows it again.
    private func rejoin(_ space: SpaceID) throws {
        // The journal's entries about lost values are removed with the space.
        for entry in try store.wholeJournal() where entry.isAboutLostValues { history.saw(entry, on: device.name) }
        oracle.wasTold(try store.session(), on: device.name)
        do throws(StoreError) {
            guard try store.unfollow(space) != nil else { return }
        } catch {
            guard error.code != .unsentWrites else { return }
            // The change may have taken effect despite the error.
            hasLeft(space)
            throw error
        }
        hasLeft(space)
        _ = try store.follow(space)
        simulation.note("unfollows \(space), and follows it again", by: device.name)
    }

    private func hasLeft(_ space: SpaceID) {
        device.noteUnfollowed(space)
        oracle.left(space, on: device.name)
    }

    /// Restores everything that the server has lost, and checks that the user is told about each entry.
    private func restoreLost(now: WallTime) throws {
        let before = try lostEntries()
        let selection = try store.lostEntries().selection()
        let chosen = selection.filter { !$0.isLeft }
        let left = Dictionary(uniqueKeysWithValues: chosen.map { ($0.entry, $0.leftChanges) })
        var queue = RestoreQueue(chosen.map(\.entry))
        while let number = queue.next() {
            guard let entry = try store.journalEntry(number) else {
                throw Violation(
                    .I15, "\(device.name) wants to restore entry \(number), which its journal does not have")
            }
            do {
                try restore(entry, leaving: left[number] ?? [], now: now, isChosen: false)
            } catch let error as StoreError {
                try queue.refused(error)
            }
        }
        let told = Set(selection.map(\.entry))
        if let untold = before.first(where: { !told.contains($0) }) {
            throw Violation(
                .I15, "\(device.name) restores everything that was lost, and says nothing about entry \(untold)")
        }
        let kept = Set(selection.filter(\.isLeft).map(\.entry) + queue.failures.map(\.entry))
        let open = Set(try lostEntries())
        if let closed = kept.sorted().first(where: { !open.contains($0) }) {
            throw Violation(.I15, "\(device.name) has not restored entry \(closed), which is no longer open")
        }
    }

    /// Returns the numbers of the open entries about changes that the server has lost.
    private func lostEntries() throws(StoreError) -> [Int64] {
        try store.wholeJournal().filter { entry in
            guard entry.state == .active, case .lost = entry.event else { return false }
            return true
        }.map(\.number)
    }

    /// - Parameters:
    ///   - left: changes of a lost entry that stay in the journal.
    ///   - isChosen: whether the user has read the entry, and not only asked for all of its kind.
    ///   - isRetry: whether the store restores only an open entry.
    private func restore(
        _ entry: JournalEntry, leaving left: LeftChanges = [], now: WallTime, isChosen: Bool = true,
        isRetry: Bool = false
    ) throws {
        if isChosen { oracle.saw(entry, on: device.name) }
        saw(entry)
        let newest = try store.journal(state: nil, limit: 1).first?.number ?? 0
        var addresses = JournalOffer([entry]).addresses
        // A deleted record may be restored under an id that the entry does not name. The user finds it in the list of
        // records.
        for collection in Set(addresses.map(\.collection)).sorted() where store.catalog[collection] != nil {
            let records = try device.disk.withoutFaults { () throws(StoreError) in
                try store.records(matching: RecordQuery(collection))
            }
            addresses.formUnion(records.map { RecordAddress(collection, $0.id) })
        }
        let shown = try read(addresses.sorted())
        let identifiers = Guarded(simulation.random("restored by \(device.name), \(entry.number)"))
        let made = Guarded([RecordID]())
        let makeID = { @Sendable in
            let id = identifiers.withLock { RecordID.make(at: now, random: &$0) }
            made.withLock { $0.append(id) }
            return id
        }
        let sequences: [OutboxSequence]
        let outbox = try device.disk.withoutFaults { try store.outboxSummary() }
        do {
            sequences =
                isRetry
                ? try store.retry(journal: entry.number, now: now, newID: makeID)
                : try store.restore(journal: entry.number, leaving: left, now: now, newID: makeID)
        } catch {
            // A refused restore has changed nothing.
            let isRefused = error.advice == .changeTheRequest
            if !isRefused { history.mayHaveCommitted(on: device.name) }
            let edits = JournalOffer([entry]).addresses.sorted().map { RecordEdit.delete($0.collection, $0.id) }
            oracle.failed(edits, in: .default, on: device.name, having: shown, error)
            // The records may have been restored under ids that the user does not know.
            if !isChosen, !isRefused { oracle.saw(entry, on: device.name) }
            try checkIsTrue(
                error, ofRestoring: entry, leaving: left, isRetry: isRetry, withOpen: outbox.activeJournalEntries)
            try checkStays(entry, after: error, outbox)
            throw error
        }
        try checkMayBeRestored(entry, isRetry: isRetry)
        if left.changes.isEmpty { try checkEnded(entry, as: .restored) }
        for sequence in sequences {
            history.committed(sequence, on: device.name)
            simulation.note(
                "sends entry \(entry.number) of its journal again as \(sequence)", by: device.name, as: .commit)
        }
        if !sequences.isEmpty {
            try reportRestored(addresses, of: entry, left.changes, made.withLock { $0 }, shown, isChosen)
        }
        if case .merged(let conflicts) = entry.event { try reportWrittenAgain(conflicts) }
        try checkIsSaidAgain(entry, after: newest)
        try checkFollowsCorrections(entry)
    }

    /// Reports the values that restoring a merge has written again. The record may have shown them before, because the
    /// kept values had not arrived.
    private func reportWrittenAgain(_ conflicts: [FieldConflict]) throws {
        for conflict in conflicts {
            let address = RecordAddress(conflict.collection, conflict.record)
            let field = UserOracle.FieldAddress(address, conflict.field)
            let record = try read([address])[address] ?? nil
            guard let record, record.value(at: field, in: oracle.catalog) == conflict.loser.value else { continue }
            let space = try store.space(of: address.collection, address.id) ?? .default
            oracle.writtenAgain(
                UserOracle.Saved(field: field, value: conflict.loser.value), in: space, on: device.name)
        }
    }

    /// Reports the records that restoring an entry of the journal has changed.
    private func reportRestored(
        _ addresses: Set<RecordAddress>, of entry: JournalEntry, _ left: Set<LostChange>, _ made: [RecordID],
        _ shown: [RecordAddress: Record?], _ isChosen: Bool
    ) throws {
        let new = made.flatMap { id in
            store.catalog.models.map { RecordAddress($0.collection, id) }
        }
        for (address, record) in try read(addresses.sorted() + new).sorted(by: { $0.key < $1.key }) {
            let before = shown[address] ?? nil
            guard record?.values != before?.values else { continue }
            let space = try store.space(of: address.collection, address.id) ?? entry.transaction?.space ?? .default
            var patch = Patch()
            for saved in record.map({ oracle.values(of: $0, at: address) }) ?? []
            where before?.value(at: saved.field, in: oracle.catalog) != saved.value {
                patch.set(saved.field.field, to: saved.value)
            }
            let edit: RecordEdit =
                record == nil ? .delete(address.collection, address.id) : .update(address.collection, address.id, patch)
            simulation.note("restored entry \(entry.number): \(edit)", by: device.name, as: .commit)
            if isChosen {
                oracle.saved([edit], in: space, on: device.name, having: [address: before])
            } else {
                let left = Set(
                    left.compactMap { change in
                        change.field.map { UserOracle.FieldAddress(change.record, $0) }
                    })
                oracle.restored(edit, of: entry, leaving: left, in: space, on: device.name, having: before)
            }
        }
    }

    /// Returns the records that the device shows, read without faults of its disk.
    func read(_ addresses: [RecordAddress]) throws(StoreError) -> [RecordAddress: Record?] {
        try device.disk.withoutFaults { () throws(StoreError) in try oracle.read(addresses, in: store) }
    }

    /// Reports that the user is about to act on an entry of the journal.
    func saw(_ entry: JournalEntry) {
        history.saw(entry, on: device.name)
        journals.dealsWith(entry.number, on: device.name)
    }

    /// Checks that every change of a rejected, cancelled, or lost transaction has been made again.
    ///
    /// - Parameter newest: the number of the newest entry before the restore. Later ones have the changes of a
    ///   lost entry that wait for a record.
    private func checkIsSaidAgain(_ entry: JournalEntry, after newest: Int64) throws {
        switch entry.event {
        case .rejected(let transaction, _), .cancelled(let transaction):
            var edits: [RecordEdit] = []
            for mutation in transaction.mutations {
                let (collection, record) = (mutation.collection, mutation.record)
                switch mutation.intent {
                case .delete:
                    // Another space may hold the id by now. The delete does not apply to that record.
                    let home = try store.space(of: collection, record)
                    if home == nil || home == transaction.space { edits.append(.delete(collection, record)) }
                case .create, .update:
                    try checkIsShown(mutation)
                }
            }
            try checkReadsItsWrites(edits)
        case .lost(let transaction):
            let waiting = JournalOffer(
                try store.wholeJournal().filter { $0.number > newest && $0.state == .active })
            for mutation in transaction.mutations {
                for (field, value) in mutation.patch {
                    let saved = UserOracle.Saved(
                        field: UserOracle.FieldAddress(mutation.address, field), value: value)
                    guard !waiting.values.contains(saved) else { continue }
                    try checkIsRestored(saved, in: transaction.space)
                }
            }
        case .merged(let conflicts), .overwritten(let conflicts, _):
            try checkIsRestored(conflicts, in: entry, after: newest)
        case .noticesRemoved: return
        }
    }

    /// Checks that a value of a restored entry is visible: in its field, or in a record that replaces its record. A
    /// reference to a record that is missing is left out.
    private func checkIsRestored(_ saved: UserOracle.Saved, in space: SpaceID) throws {
        let (address, field) = (saved.field.address, saved.field.field)
        guard let schema = store.catalog[address.collection], let position = schema.position(of: field) else { return }
        if try store.record(address.collection, .id(address.id))?.values[position] == saved.value { return }
        oracle.moved(saved, on: device.name)
        if case .reference(let id) = saved.value, let target = schema.fields[position].target,
            try store.space(of: target, id) != space
        {
            return
        }
        let others = try store.records(matching: RecordQuery(address.collection))
        guard others.contains(where: { $0.values[position] == saved.value }) else {
            throw Violation(
                .I6, "\(device.name) has restored \(saved), and shows it nowhere")
        }
    }

    /// Checks that an edit is visible: in its record, or in the one that replaces the record after a delete.
    private func checkIsShown(_ mutation: Mutation) throws {
        guard let schema = store.catalog[mutation.collection] else { return }
        let candidates =
            try store.record(mutation.collection, .id(mutation.record)).map { [$0] }
            ?? store.records(matching: RecordQuery(mutation.collection))
        let isShown = try candidates.contains { record in
            try mutation.patch.allSatisfy { field, value in
                guard let position = schema.position(of: field) else { return false }
                if record.values[position] == value { return true }
                // A reference to a deleted record is changed to the record that replaces it, or is cleared.
                guard case .reference(let id) = value, let target = schema.fields[position].target else { return false }
                return try store.record(target, .id(id)) == nil
            }
        }
        guard isShown else {
            throw Violation(
                .I6,
                "\(device.name) does not read \(mutation.patch) of \(mutation.collection) \(mutation.record) that it has restored"
            )
        }
    }

    func checkReadsItsWrites(_ edits: [RecordEdit]) throws {
        for edit in edits {
            let found = try store.record(edit.collection, .id(edit.record))
            switch edit {
            case .delete:
                if found != nil { throw Violation(.I6, "\(device.name) reads \(edit.words) after it was deleted") }
            case .create(_, _, let patch), .update(_, _, let patch):
                guard let found, let schema = store.catalog[edit.collection] else {
                    throw Violation(.I6, "\(device.name) does not read \(edit.words) that it has written")
                }
                for (field, value) in patch {
                    guard let position = schema.position(of: field), found.values[position] == value else {
                        throw Violation(.I6, "\(device.name) reads another \(field) than it wrote to \(edit.words)")
                    }
                }
            }
        }
    }

    /// Checks that the outbox entry contains every record that the transaction creates or deletes.
    func checkWritesAreTogether(_ edits: [RecordEdit], at sequence: OutboxSequence) throws {
        let newest = try store.outbox(after: OutboxSequence(rawValue: sequence.rawValue - 1), limit: 2)
        guard let entry = newest.last, entry.sequence == sequence else {
            throw Violation(.I1, "\(device.name) committed \(sequence), which is not the last in its outbox")
        }
        let written = Set(entry.transaction.mutations.map(\.record))
        let created = Set(edits.compactMap { if case .create = $0 { $0.address } else { nil } })
        for edit in edits.combined {
            if case .update = edit { continue }
            // The transaction may delete a record that it creates.
            if case .delete = edit, created.contains(edit.address) { continue }
            guard written.contains(edit.record) else {
                throw Violation(.I10, "\(device.name) committed \(sequence) without its \(edit.words)")
            }
        }
    }
}

extension JournalEntry {
    /// The transaction that the entry offers to restore; nil for an entry about conflicts.
    var transaction: Transaction? {
        switch event {
        case .rejected(let transaction, _), .cancelled(let transaction), .lost(let transaction): transaction
        case .merged, .overwritten, .noticesRemoved: nil
        }
    }
}

extension JournalEntry {
    /// Whether the entry tells which values have lost to those of others.
    fileprivate var isAboutLostValues: Bool {
        switch event {
        case .merged, .overwritten, .noticesRemoved: true
        case .rejected, .cancelled, .lost: false
        }
    }
}

extension [RecordEdit] {
    /// The edits with one for each record, which has the values of the last ones.
    var combined: [RecordEdit] {
        var combined: [RecordEdit] = []
        for edit in self {
            guard let position = combined.firstIndex(where: { $0.address == edit.address }) else {
                combined.append(edit)
                continue
            }
            var patch = combined[position].patch
            for (field, value) in edit.patch { patch.set(field, to: value) }
            switch (combined[position], edit) {
            case (_, .delete), (.delete, _): combined[position] = .delete(edit.collection, edit.record)
            case (.create, _): combined[position] = .create(edit.collection, edit.record, patch)
            case (.update, _): combined[position] = .update(edit.collection, edit.record, patch)
            }
        }
        return combined
    }
}

extension RecordEdit {
    var words: String {
        switch self {
        case .create(let collection, let id, _): "create \(collection) \(id)"
        case .update(let collection, let id, let patch):
            "update \(collection) \(id) \(patch)"
        case .delete(let collection, let id): "delete \(collection) \(id)"
        }
    }
}
