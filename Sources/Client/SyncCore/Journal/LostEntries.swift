package import SyncModel

/// Selects which of several lost entries to restore together, so that none overwrites the value of another.
///
/// After two restores of a server, the journal may have two values of one field. If both were written, the first would
/// be gone although its entry counts as restored. Of such entries, one that creates records is selected, or else the
/// newest one. The others stay in the journal. An entry with a field that was changed after the entry was made stays,
/// too, because the field's current value is newer. So does one that would empty a field: it may only be that the field
/// had no value yet in the lost history.
package struct LostEntries: Sendable {
    /// An entry that is not selected, because another one has a different value of the same field.
    package struct Conflict: Hashable, Sendable {
        package let entry: Int64
        package let selected: Int64
    }

    /// What keeps an entry from being restored together with others.
    package enum Obstacle: Hashable, Sendable {
        /// A field has been changed since the entry was made.
        case isOutdated
        /// A field would lose its value.
        case empties
    }

    private struct Field: Hashable {
        let record: RecordAddress
        let name: FieldName
    }

    private struct Entry {
        let number: Int64
        let createsRecords: Bool
        /// The hash of each value, because the values of a whole journal may not fit in memory.
        let values: [Field: Int]
    }

    private var entries: [Entry] = []
    /// The numbers of the entries with a field that was changed after the entry was made.
    package private(set) var outdated: [Int64] = []
    /// The numbers of the entries that would take the value of a field away and not give it another.
    package private(set) var emptying: [Int64] = []

    package init() {}

    /// Adds an entry.
    ///
    /// - Parameter obstacle: Why the entry is not restored together with others; nil when it may be.
    package mutating func add(_ number: Int64, _ changes: Transaction, _ obstacle: Obstacle?) {
        switch obstacle {
        case .isOutdated: return outdated.append(number)
        case .empties: return emptying.append(number)
        case nil: break
        }
        var values: [Field: Int] = [:]
        var createsRecords = false
        for mutation in changes.mutations {
            if case .create = mutation.intent { createsRecords = true }
            let record = RecordAddress(mutation.collection, mutation.record)
            for (name, value) in mutation.patch { values[Field(record: record, name: name)] = value.hashValue }
        }
        entries.append(Entry(number: number, createsRecords: createsRecords, values: values))
    }

    /// Returns the numbers of the entries to restore, in the order to restore them, and the conflicting entries to
    /// leave in the journal.
    ///
    /// Entries that create records come first, because changes and references of other entries need these records.
    /// Otherwise, the oldest is first.
    package func selection() -> (restored: [Int64], left: [Conflict]) {
        var selected: [Field: (value: Int, entry: Int64)] = [:]
        var (restored, left): ([Int64], [Conflict]) = ([], [])
        let newestFirst = entries.sorted {
            $0.createsRecords == $1.createsRecords ? $0.number > $1.number : $0.createsRecords
        }
        for entry in newestFirst {
            let others = entry.values.compactMap { field, value in
                selected[field].flatMap { $0.value == value ? nil : $0.entry }
            }
            if let other = others.max() {
                left.append(Conflict(entry: entry.number, selected: other))
                continue
            }
            for (field, value) in entry.values { selected[field] = (value, entry.number) }
            restored.append(entry.number)
        }
        let creating = Set(entries.filter(\.createsRecords).map(\.number))
        restored.sort { creating.contains($0) == creating.contains($1) ? $0 < $1 : creating.contains($0) }
        return (restored, left.sorted { $0.entry < $1.entry })
    }
}

extension LocalStore {
    /// Returns the active entries of changes that were lost, either by a restored server or with a damaged database.
    package func lostEntries() throws(StoreError) -> LostEntries {
        var lost = LostEntries()
        try forEachJournalEntry(state: .active) { entry throws(StoreError) in
            if case .lost(let changes) = entry.event {
                let obstacle: LostEntries.Obstacle? =
                    if try hasChanged(since: changes) { .isOutdated } else if try hasValues(emptiedBy: changes) {
                        .empties
                    } else { nil }
                lost.add(entry.number, changes, obstacle)
            }
            return true
        }
        return lost
    }

    /// Returns whether a field of the lost changes has received another value since the changes were noted.
    package func hasChanged(since lost: Transaction) throws(StoreError) -> Bool {
        for mutation in lost.mutations {
            guard let schema = catalog[mutation.collection] else { continue }
            guard let record = try record(mutation.collection, .id(mutation.record)) else {
                if try hasReplacementChanged(since: mutation, schema) { return true }
                continue
            }
            switch mutation.intent {
            case .create(let patch):
                // The record has been created again.
                for (field, value) in patch where record.value(of: field, schema) != value { return true }
            case .update(let edits):
                for edit in edits {
                    guard let position = schema.position(of: edit.field) else { continue }
                    let (shown, version) = (record.values[position], record.version(ofFieldAt: position))
                    // The record had never come from a server, and still has the value over which the edit was written.
                    if edit.seen == .zero, shown == edit.before { continue }
                    // A pending edit of this device changes the value but not its version. After another loss of the
                    // server's history, the versions cannot be compared.
                    let isNewer = version > edit.seen || shown != edit.before
                    if isNewer, shown != edit.value { return true }
                }
            case .delete: break
            }
        }
        return false
    }

    /// Returns whether lost changes would take the value of a field away and not give it another.
    private func hasValues(emptiedBy lost: Transaction) throws(StoreError) -> Bool {
        for mutation in lost.mutations {
            guard case .update(let edits) = mutation.intent, edits.contains(where: \.value.isNull),
                let schema = catalog[mutation.collection]
            else { continue }
            let id = try replacement(of: mutation.collection, mutation.record) ?? mutation.record
            guard let record = try record(mutation.collection, .id(id)) else { continue }
            for edit in edits where edit.value.isNull {
                if let shown = record.value(of: edit.field, schema), !shown.isNull { return true }
            }
        }
        return false
    }

    /// Returns whether a field of the record that replaces a deleted one has another value than the lost change
    /// gives to the field, or found in it.
    ///
    /// Versions of the two records cannot be compared.
    private func hasReplacementChanged(
        since lost: Mutation, _ schema: ModelSchema
    ) throws(StoreError) -> Bool {
        guard let id = try replacement(of: lost.collection, lost.record),
            let record = try record(lost.collection, .id(id))
        else { return false }
        switch lost.intent {
        case .create(let patch):
            return patch.contains { record.value(of: $0.field, schema) != $0.value }
        case .update(let edits):
            return edits.contains { edit in
                guard let shown = record.value(of: edit.field, schema) else { return false }
                return shown != edit.value && shown != edit.before
            }
        case .delete: return false
        }
    }
}

extension Record {
    fileprivate func value(of field: FieldName, _ schema: ModelSchema) -> FieldValue? {
        schema.position(of: field).map { values[$0] }
    }
}
