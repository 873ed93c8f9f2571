package import SyncModel

/// A field as a person has seen it, for a comparison within one process.
package struct ShownField: Hashable, Sendable {
    private let version: Version
    /// The hash of the value, because the values of a whole journal may not fit in memory.
    private let hash: Int

    package init(_ position: Int, of record: Record) {
        version = record.version(ofFieldAt: position)
        hash = record.values[position].hashValue
    }
}

/// Selects which changes of several lost entries to restore together, so that none replaces a newer value.
///
/// A change is left in the journal for one of these reasons:
///
/// - Its field has been changed since the entry was made. If another device has created the record again, a creation
///   fills only the fields that are still empty.
/// - The id of its record is in use in another space of the restored server.
/// - It would empty a field. The device cannot tell whether a user cleared the field, or the field never had a value in
///   the lost history.
/// - Another entry has another value of its field. The value of a creation is preferred, and otherwise the value of the
///   newest entry. Exception: after two server restores, an older entry wins if its edit replaced the newer entry's
///   value.
package struct LostEntries: Sendable {
    /// The reason why a change is not restored together with others.
    package enum Obstacle: Hashable, Sendable {
        /// The field has been changed since the entry was made.
        case outdated
        /// The id of the record is in use in another space.
        case isElsewhere
        /// The field would lose its value.
        case emptiesField
        /// Another entry, which has this number, has another value of the field.
        case otherEntry(Int64)
    }

    /// An entry, and what keeps some of its changes in the journal.
    package struct Selection: Hashable, Sendable {
        package let entry: Int64
        package internal(set) var left: [LostChange: Obstacle]
        fileprivate let shown: [LostChange: ShownField]
        /// The number of changes in the entry.
        package let changes: Int

        /// Whether all changes of the entry stay in the journal.
        package var isLeft: Bool { left.count == changes }

        /// The changes that a restore of the entry leaves in the journal.
        package var leftChanges: LeftChanges { LeftChanges(Set(left.keys), shown: shown) }
    }

    private struct Entry {
        let number: Int64
        let createsRecords: Bool
        /// The values of all fields that the entry sets, each field of a record once.
        private(set) var values: [Value] = []
        private var positions: [LostChange: Int] = [:]
        var left: [LostChange: Obstacle]
        let shown: [LostChange: ShownField]
        var changes = 0

        init(
            number: Int64, createsRecords: Bool, left: [LostChange: Obstacle], shown: [LostChange: ShownField]
        ) {
            self.number = number
            self.createsRecords = createsRecords
            self.left = left
            self.shown = shown
        }

        /// Sets the value of a field, which replaces an earlier one of the entry.
        mutating func set(_ field: LostChange, _ value: Value) {
            if let position = positions[field] {
                values[position] = value
            } else {
                positions[field] = values.count
                values.append(value)
            }
        }
    }

    private struct Value {
        /// The field in which a restore writes the value.
        let place: LostChange
        /// The hash of the value, because the values of a whole journal may not fit in memory.
        let hash: Int
        /// The hash of the value that an edit replaced; nil for a creation.
        let before: Int?
        /// The edit or the creation that sets the value.
        let change: LostChange
    }

    /// The entries, newest first.
    private var entries: [Entry] = []
    /// For each field that edits set, the hash of the value in the oldest entry so far that sets the field. This entry
    /// was added last, because entries are added newest first. The field is missing if its change in that entry has an
    /// obstacle.
    private var lastAddedValue: [LostChange: Int] = [:]

    package init() {}

    /// Adds an entry. The caller adds the newest entry first.
    ///
    /// - Parameters:
    ///   - obstacles: The changes that cannot be restored without the other entries, with the reasons. The reason
    ///     `outdated` does not apply to an edit that replaced the last added value of its field.
    ///   - shown: The fields that the entry's updates set, as they are now.
    ///   - replacements: The ids of the records that have replaced deleted records of the entry. A restore writes to
    ///     them.
    package mutating func add(
        _ number: Int64, _ changes: Transaction, obstacles: [LostChange: Obstacle],
        shown: [LostChange: ShownField] = [:], replacements: [RecordAddress: RecordID] = [:]
    ) {
        let createsRecords = changes.mutations.contains { if case .create = $0.intent { true } else { false } }
        var entry = Entry(number: number, createsRecords: createsRecords, left: obstacles, shown: shown)
        for mutation in changes.mutations {
            let address = mutation.address
            let record = replacements[address].map { RecordAddress(address.collection, $0) } ?? address
            switch mutation.intent {
            case .create(let patch):
                let creation = LostChange(address)
                entry.changes += 1
                for (name, value) in patch {
                    let change = LostChange(address, name)
                    let isSeparate = obstacles[change] != nil
                    if isSeparate { entry.changes += 1 }
                    entry.set(
                        change,
                        Value(
                            place: LostChange(record, name), hash: value.hashValue, before: nil,
                            change: isSeparate ? change : creation))
                }
            case .update(let edits):
                entry.changes += edits.count
                for edit in edits {
                    let change = LostChange(address, edit.field)
                    let place = LostChange(record, edit.field)
                    let value = Value(
                        place: place, hash: edit.value.hashValue, before: edit.before.hashValue, change: change)
                    entry.set(change, value)
                    // This field is outdated only because the value that this edit replaced was lost, too.
                    if entry.left[change] == .outdated, lastAddedValue[place] == value.before {
                        entry.left[change] = edit.value.isNull ? .emptiesField : nil
                    }
                    lastAddedValue[place] = entry.left[change] == nil ? value.hash : nil
                }
            case .delete: break
            }
        }
        entries.append(entry)
    }

    /// Returns all entries, in the order to restore them.
    ///
    /// Entries that create records come first, because changes and references of other entries need these records.
    /// Otherwise, the oldest is first.
    package func selection() -> [Selection] {
        let creating = entries.filter(\.createsRecords)
        let others = entries.filter { !$0.createsRecords }
        var selected: [LostChange: (value: Value, entry: Int64)] = [:]
        for entry in entries {
            for value in entry.values where entry.left[value.change] == nil {
                if let newer = selected[value.place]?.value {
                    let isCreation = value.before == nil
                    guard newer.before != nil, isCreation || value.before == newer.hash else { continue }
                }
                selected[value.place] = (value, entry.number)
            }
        }
        return (creating.reversed() + others.reversed()).map { entry in
            var left = entry.left
            for value in entry.values where left[value.change] == nil {
                guard let other = selected[value.place], other.value.hash != value.hash else { continue }
                left[value.change] = .otherEntry(other.entry)
            }
            return Selection(entry: entry.number, left: left, shown: entry.shown, changes: entry.changes)
        }
    }
}

extension LocalStore {
    /// Returns the active entries of changes that were lost, either by a restored server or with a damaged database.
    package func lostEntries() throws(StoreError) -> LostEntries {
        var lost = LostEntries()
        try forEachJournalEntry(state: .active) { entry throws(StoreError) in
            if case .lost(let changes) = entry.event {
                let state = try state(of: changes)
                lost.add(
                    entry.number, changes, obstacles: state.obstacles, shown: state.shown,
                    replacements: try replacements(in: changes))
            }
            return true
        }
        return lost
    }

    /// Returns the replacements of changed records that are no longer on this device.
    private func replacements(in lost: Transaction) throws(StoreError) -> [RecordAddress: RecordID] {
        var replacements: [RecordAddress: RecordID] = [:]
        for mutation in lost.mutations where catalog[mutation.collection] != nil {
            guard try record(mutation.collection, .id(mutation.record)) == nil else { continue }
            replacements[mutation.address] = try replacement(of: mutation.collection, mutation.record)
        }
        return replacements
    }

    /// Returns the lost changes that cannot be restored together with others, and why. Ignores the other entries.
    package func obstacles(to lost: Transaction) throws(StoreError) -> [LostChange: LostEntries.Obstacle] {
        try state(of: lost).obstacles
    }

    /// Returns what keeps lost changes from being restored together with others, and the fields that they would set.
    private func state(
        of lost: Transaction
    ) throws(StoreError) -> (obstacles: [LostChange: LostEntries.Obstacle], shown: [LostChange: ShownField]) {
        var obstacles: [LostChange: LostEntries.Obstacle] = [:]
        var shown: [LostChange: ShownField] = [:]
        for mutation in lost.mutations {
            guard let schema = catalog[mutation.collection] else { continue }
            var record = try record(mutation.collection, .id(mutation.record))
            var isReplacement = false
            if record == nil, let id = try replacement(of: mutation.collection, mutation.record) {
                record = try self.record(mutation.collection, .id(id))
                isReplacement = true
            }
            guard let record else { continue }
            guard try space(of: mutation.collection, record.id) == lost.space else {
                for change in mutation.changes { obstacles[change] = .isElsewhere }
                continue
            }
            switch mutation.intent {
            case .create(let patch):
                // The record exists, so it was created again after the loss.
                let (others, canFill) = record.difference(from: patch, schema)
                guard canFill else {
                    if !others.isEmpty { obstacles[LostChange(mutation.address)] = .outdated }
                    continue
                }
                for name in others { obstacles[LostChange(mutation.address, name)] = .outdated }
            case .update(let edits):
                for edit in edits {
                    let change = LostChange(mutation.address, edit.field)
                    obstacles[change] = record.obstacle(to: edit, isReplacement: isReplacement, schema)
                    shown[change] = schema.position(of: edit.field).map { ShownField($0, of: record) }
                }
            case .delete: break
            }
        }
        return (obstacles, shown)
    }
}

extension Mutation {
    /// The smallest parts of a lost mutation.
    fileprivate var changes: [LostChange] {
        switch intent {
        case .create, .delete: [LostChange(address)]
        case .update(let edits): edits.map { LostChange(address, $0.field) }
        }
    }
}

extension Record {
    /// Compares the record with a patch.
    ///
    /// - Returns: The fields whose values differ from the patch and that have been set, and whether the patch has a
    ///   value for a field that has been empty since the record was created.
    fileprivate func difference(from patch: Patch, _ schema: ModelSchema) -> (others: [FieldName], canFill: Bool) {
        var others: [FieldName] = []
        var canFill = false
        for (name, value) in patch {
            guard let position = schema.position(of: name), values[position] != value else { continue }
            if isEmptySinceCreation(position) { canFill = true } else { others.append(name) }
        }
        return (others, canFill)
    }

    /// Returns the reason why a lost edit of this record is not restored together with others; nil if there is none.
    ///
    /// - Parameter isReplacement: Whether the record replaces the edited one, which was deleted. The versions of the
    ///   two records cannot be compared.
    fileprivate func obstacle(
        to edit: FieldEdit, isReplacement: Bool, _ schema: ModelSchema
    ) -> LostEntries.Obstacle? {
        guard let position = schema.position(of: edit.field) else { return nil }
        let (shown, version) = (values[position], version(ofFieldAt: position))
        guard shown != edit.value else { return nil }
        if shown != edit.before { return .outdated }
        // `seen` is zero if no server had sent the record. In that case, only the values can be compared.
        if !isReplacement, edit.seen != .zero, version > edit.seen { return .outdated }
        return edit.value.isNull ? .emptiesField : nil
    }
}

extension [Mutation] {
    /// Separates the named changes from the others. Both keep their order.
    package func separating(_ changes: Set<LostChange>) -> (others: [Mutation], named: [Mutation]) {
        guard !changes.isEmpty else { return (self, []) }
        var (others, named): ([Mutation], [Mutation]) = ([], [])
        for mutation in self {
            if changes.contains(LostChange(mutation.address)) {
                named.append(mutation)
                continue
            }
            let isNamed = { (name: FieldName) in changes.contains(LostChange(mutation.address, name)) }
            guard mutation.patch.contains(where: { isNamed($0.field) }) else {
                others.append(mutation)
                continue
            }
            if let part = mutation.part(where: isNamed) { named.append(part) }
            if let part = mutation.part(where: { !isNamed($0) }) { others.append(part) }
        }
        return (others, named)
    }
}

extension Mutation {
    /// Returns the mutation with those of its values whose fields match; nil if none does.
    package func part(where matches: (FieldName) -> Bool) -> Mutation? {
        let part: Intent
        switch intent {
        case .create(let patch):
            var kept = Patch()
            for (name, value) in patch where matches(name) { kept.set(name, to: value) }
            guard !kept.isEmpty else { return nil }
            part = .create(kept)
        case .update(let edits):
            let kept = edits.filter { matches($0.field) }
            guard !kept.isEmpty else { return nil }
            part = .update(kept)
        case .delete: return nil
        }
        return Mutation(collection: collection, record: record, time: time, intent: part)
    }
}
