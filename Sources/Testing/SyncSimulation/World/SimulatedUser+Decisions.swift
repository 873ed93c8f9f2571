import SyncConcurrency
import SyncCore
import SyncModel

/// The records that the user of a device has created in place of those of rejected transactions.
struct CorrectedRecords: Sendable {
    /// The life of the application's process in which the user did so. Later, the disk may have been replaced.
    let life: Int
    var records: [RecordAddress: RecordID] = [:]
}

// Decisions about entries of the journal: each takes effect as a whole, or names a true reason why it does not.
extension SimulatedUser {
    /// Writes edits in place of the changes of an open entry.
    func correct(
        _ correction: JournalCorrection, with edits: [RecordEdit], in space: SpaceID, now: WallTime
    ) throws {
        guard let entry = try store.journalEntry(correction.entry) else { return }
        oracle.saw(entry, on: device.name)
        saw(entry)
        let shown = try read(edits.map(\.address))
        let outbox = try device.disk.withoutFaults { try store.outboxSummary() }
        let sequence: OutboxSequence?
        do {
            sequence = try store.commit(edits, seen: [:], correcting: correction, in: space, now: now)
        } catch {
            history.mayHaveCommitted(on: device.name)
            oracle.failed(edits, in: space, on: device.name, having: shown, error)
            if error.code == .entryIsFrozen {
                try require(entry.state != .active, "may not correct \(entry.words), which is open")
            } else if error.advice == .changeTheRequest || error.code == .journalFull {
                // A correction leaves as many entries open as before, or fewer, so a full journal is no reason.
                try checkIsTrue(error, of: edits, in: space, withOpen: 0)
            }
            try checkStays(entry, after: error, outbox)
            throw error
        }
        try require(entry.state == .active, "has corrected \(entry.words), about which its user had decided")
        try checkEnded(entry, as: .dismissed)
        simulation.note("corrects entry \(entry.number)", by: device.name)
        noteCreations(of: correction)
        guard let sequence else { return }
        history.committed(sequence, on: device.name)
        oracle.saved(edits, in: space, on: device.name, having: shown)
        simulation.note(
            "commits \(sequence): \(edits.map(\.words).joined(separator: ", "))", by: device.name, as: .commit)
        try checkReadsItsWrites(edits.combined)
        try checkWritesAreTogether(edits, at: sequence)
    }

    private func noteCreations(of correction: JournalCorrection) {
        corrections.withLock { corrections in
            var known = corrections[device.name] ?? CorrectedRecords(life: device.life)
            if known.life != device.life { known = CorrectedRecords(life: device.life) }
            for creation in correction.creations { known.records[creation.record] = creation.id }
            corrections[device.name] = known
        }
    }

    /// Checks that a restored entry refers to the records that its user has created in place of those that it names.
    func checkFollowsCorrections(_ entry: JournalEntry) throws {
        guard let known = corrections.withLock({ $0[device.name] }), known.life == device.life else { return }
        for mutation in entry.transaction?.mutations ?? [] {
            guard let schema = store.catalog[mutation.collection],
                let record = try store.record(mutation.collection, .id(mutation.record))
            else { continue }
            for (name, value) in mutation.patch {
                guard case .reference(let id) = value, let position = schema.position(of: name),
                    let target = schema.fields[position].target, let new = known.records[RecordAddress(target, id)],
                    try store.record(target, .id(id)) == nil,
                    try store.space(of: target, new) == entry.transaction?.space
                else { continue }
                try require(
                    record.values[position] != .reference(id) && record.values[position] != .null,
                    "has restored \(entry.words), whose \(name) does not refer to \(target) \(new), which its user has created in place of \(id)"
                )
            }
        }
    }

    // MARK: The end of an entry

    /// Checks that an entry has a state after a decision. A full journal may delete an entry as soon as it is handled.
    func checkEnded(_ entry: JournalEntry, as state: JournalEntry.State) throws {
        guard let after = try device.disk.withoutFaults({ try store.journalEntry(entry.number)?.state }) else { return }
        try require(after == state, "keeps \(entry.words) as \(after.rawValue), not as \(state.rawValue)")
    }

    /// Checks that a refused decision has changed neither the entry nor the outbox.
    func checkStays(_ entry: JournalEntry, after refusal: StoreError, _ outbox: OutboxSummary) throws {
        guard refusal.advice == .changeTheRequest || [.journalFull, .outboxFull].contains(refusal.code) else { return }
        try device.disk.withoutFaults {
            let after = try store.journalEntry(entry.number)?.state
            try require(
                after == entry.state,
                "refused a decision about \(entry.words), and keeps it as \(after?.rawValue ?? "nothing")")
            let left = try store.outboxSummary()
            try require(
                left == outbox, "refused a decision about \(entry.words), and its outbox is \(left), not \(outbox)")
        }
    }

    func checkMayBeRestored(_ entry: JournalEntry, isRetry: Bool) throws {
        try require(
            isRetry ? entry.state == .active : entry.state != .restored, "has restored \(entry.words) again")
    }

    /// Checks that each losing value of a restored entry is shown, in its record or in the one that replaces it, or
    /// offered by an entry that the restore has made.
    func checkIsRestored(_ conflicts: [FieldConflict], in entry: JournalEntry, after newest: Int64) throws {
        var losers: [UserOracle.FieldAddress: FieldValue] = [:]
        for conflict in conflicts {
            let address = RecordAddress(conflict.collection, conflict.record)
            losers[UserOracle.FieldAddress(address, conflict.field)] = conflict.loser.value
        }
        let waiting = JournalOffer(try store.wholeJournal().filter { $0.number > newest && $0.state == .active })
        for (field, value) in losers.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            guard let schema = store.catalog[field.collection], let position = schema.position(of: field.field),
                !waiting.values.contains(UserOracle.Saved(field: field, value: value))
            else { continue }
            if case .reference(let id) = value, let target = schema.fields[position].target,
                try store.record(target, .id(id)) == nil
            {
                continue
            }
            try require(
                try store.records(matching: RecordQuery(field.collection)).contains { $0.values[position] == value },
                "has restored \(entry.words), and shows \(value) of \(field) nowhere")
        }
    }

    // MARK: Reasons

    /// Checks that a refusal to restore an entry states a true reason.
    ///
    /// - Parameters:
    ///   - left: changes of the entry that stay in the journal, and that its other changes may require.
    ///   - count: the number of open entries in the journal before.
    func checkIsTrue(
        _ refusal: StoreError, ofRestoring entry: JournalEntry, leaving left: LeftChanges, isRetry: Bool,
        withOpen count: Int
    ) throws {
        let isTrue = try device.disk.withoutFaults { () throws(StoreError) in
            switch refusal.code {
            case .entryIsFrozen: return isRetry ? entry.state != .active : entry.state == .restored
            case .missingRecord, .danglingReference:
                return left.changes.isEmpty ? try lacksRecord(of: entry) : true
            case .duplicateRecord: return entry.transaction.map { !$0.createdRecords.isEmpty } ?? false
            case .stillReferenced:
                return entry.transaction?.mutations.contains { if case .delete = $0.intent { true } else { false } }
                    ?? false
            case .unknownCollection: return device.build < .current
            case .invalidValue: return device.build < .current || entry.transaction.map(lacksValue) ?? false
            case .journalFull:
                return device.storage.hasSmallJournal && count >= DeviceStorage.smallJournal.entries
            case .tooLarge, .missingEntry, .unsentWrites, .otherAccount: return false
            default: return true
            }
        }
        try require(isTrue, "does not restore \(entry.words) for a reason that is not true: \(refusal.message)")
    }

    /// Whether a record that the entry changes, or to which its values refer, is not in the space of the entry.
    private func lacksRecord(of entry: JournalEntry) throws(StoreError) -> Bool {
        var named: [RecordAddress] = []
        func add(_ patch: Patch, of collection: CollectionName) {
            for (name, value) in patch {
                guard case .reference(let id) = value,
                    let target = store.catalog[collection]?.field(named: name)?.target
                else { continue }
                named.append(RecordAddress(target, id))
            }
        }
        var mutations = (entry.transaction?.mutations ?? []) + (entry.records?.mutations ?? [])
        var conflicts: [FieldConflict] = []
        switch entry.event {
        case .merged(let lost): conflicts = lost
        case .overwritten(let lost, let records):
            conflicts = lost
            mutations += records?.mutations ?? []
        case .noticesRemoved: return true
        case .rejected, .cancelled, .lost: break
        }
        var created: Set<RecordAddress> = []
        for mutation in entry.transaction?.mutations ?? [] {
            if case .create = mutation.intent {
                created.insert(mutation.address)
            } else {
                named.append(mutation.address)
            }
        }
        for mutation in mutations { add(mutation.patch, of: mutation.collection) }
        for conflict in conflicts {
            named.append(RecordAddress(conflict.collection, conflict.record))
            add([conflict.field: conflict.loser.value], of: conflict.collection)
        }
        let known = corrections.withLock { $0[device.name] }
        let corrected = known?.life == device.life ? known?.records ?? [:] : [:]
        for address in named where !created.contains(address) {
            guard store.catalog[address.collection] != nil else { return true }
            let ids = [address.id, corrected[address]].compactMap(\.self)
            var isHere = false
            for id in ids {
                guard let home = try store.space(of: address.collection, id) else { continue }
                isHere = isHere || home == entry.transaction?.space ?? home
            }
            if !isHere { return true }
        }
        return false
    }

    /// Whether a part of a lost transaction creates a record without a value that it requires, because other entries
    /// have it.
    private func lacksValue(_ transaction: Transaction) -> Bool {
        transaction.mutations.contains { mutation in
            guard case .create(let patch) = mutation.intent else { return false }
            return store.catalog[mutation.collection]?.fields.contains { $0.isRequired && patch[$0.name] == nil }
                ?? false
        }
    }

    private func require(_ isTrue: Bool, _ sentence: @autoclosure () -> String) throws(Violation) {
        guard isTrue else { throw Violation(.I6, "\(device.name) \(sentence())") }
    }
}

extension JournalEntry {
    fileprivate var words: String { "the \(state.rawValue) entry \(number) of its journal (\(event))" }
}
