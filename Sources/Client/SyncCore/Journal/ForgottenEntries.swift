package import SyncModel

/// Selects which of several forgotten entries to restore together, so that none overwrites the value of another.
///
/// After two restores of a server, the journal may have two values of one field. If both were written, the first would
/// be gone although its entry counts as restored. The newest entry is selected, and the other stays in the journal.
package struct ForgottenEntries: Sendable {
    /// An entry that is not selected, because another one has a different value of the same field.
    package struct Conflict: Hashable, Sendable {
        package let entry: Int64
        package let selected: Int64
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

    package init() {}

    package mutating func add(_ number: Int64, _ changes: Transaction) {
        var values: [Field: Int] = [:]
        var createsRecords = false
        for mutation in changes.mutations {
            if case .create = mutation.intent { createsRecords = true }
            let record = RecordAddress(mutation.collection, mutation.record)
            for (name, value) in mutation.patch { values[Field(record: record, name: name)] = value.hashValue }
        }
        entries.append(Entry(number: number, createsRecords: createsRecords, values: values))
    }

    /// Returns the entries to restore, in this order, and the entries to leave in the journal.
    ///
    /// Entries that create records come first, because changes and references of others need them. Otherwise, the
    /// oldest is first.
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
