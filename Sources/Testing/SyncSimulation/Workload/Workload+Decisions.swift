import SyncCore
import SyncModel

// Decisions about entries of the journal.
extension Workload {
    /// Draws an entry of the journal.
    mutating func anyEntry(_ store: any LocalStore, in state: JournalEntry.State?) throws -> Int64? {
        let entries = try store.wholeJournal().filter { state == nil || $0.state == state }
        return entries.isEmpty ? nil : entries[forms.below(entries.count)].number
    }

    /// Draws other changes in place of those of an open entry about a transaction: with other texts, without some
    /// changes, and with new ids for the records that the entry was to create.
    mutating func correction(_ store: any LocalStore, _ now: WallTime) throws -> Operation? {
        let open = try store.wholeJournal().filter { $0.state == .active && $0.transaction != nil }
        guard !open.isEmpty else { return nil }
        let entry = open[forms.below(open.count)]
        guard let transaction = entry.transaction else { return nil }
        var drafts: [RecordAddress: RecordID] = [:]
        var creations: [JournalCorrection.Creation] = []
        let kept = transaction.mutations.filter { _ in !forms.chance(0.2) }
        for mutation in kept {
            guard case .create = mutation.intent else { continue }
            let id = identifier(now)
            drafts[mutation.address] = id
            creations.append(JournalCorrection.Creation(of: mutation.address, as: id))
        }
        var edits: [RecordEdit] = []
        for mutation in kept {
            let id = try current(mutation.address, drafts, store)
            switch mutation.intent {
            case .create(let patch):
                edits.append(.create(mutation.collection, id, try corrected(patch, mutation, drafts, store)))
            case .update where try store.space(of: mutation.collection, id) == transaction.space:
                let patch = try corrected(mutation.patch, mutation, drafts, store)
                edits.append(.update(mutation.collection, id, patch))
            case .delete where try store.space(of: mutation.collection, id) == transaction.space:
                edits.append(.delete(mutation.collection, id))
            case .update, .delete: continue
            }
        }
        return .correct(JournalCorrection(entry: entry.number, creations: creations), edits, in: transaction.space)
    }

    /// Returns values with new texts, and with references to the records that exist now.
    private mutating func corrected(
        _ patch: Patch, _ mutation: Mutation, _ drafts: [RecordAddress: RecordID], _ store: any LocalStore
    ) throws -> Patch {
        var corrected = Patch()
        for (name, value) in patch {
            switch value {
            case .text: corrected.set(name, to: .text(text()))
            case .reference(let id):
                guard let target = store.catalog[mutation.collection]?.field(named: name)?.target else { continue }
                corrected.set(name, to: .reference(try current(RecordAddress(target, id), drafts, store)))
            case .null, .boolean, .integer, .real, .json: corrected.set(name, to: value)
            }
        }
        return corrected
    }

    /// Returns the id under which a record exists now.
    private func current(
        _ record: RecordAddress, _ drafts: [RecordAddress: RecordID], _ store: any LocalStore
    ) throws -> RecordID {
        if let draft = drafts[record] { return draft }
        guard store.catalog[record.collection] != nil, try store.space(of: record.collection, record.id) == nil,
            let replacement = try store.replacement(of: record.collection, record.id)
        else { return record.id }
        return replacement
    }
}
