package import SyncModel

/// The edits that apply a journal entry again, over the current records.
package struct RestorePlan {
    package let space: SpaceID
    /// The edits of each transaction, in writing order.
    package private(set) var transactions: [[RecordEdit]] = []
    /// Mutations that cannot be restored yet: they require a record that is not on this device, or their record is in
    /// another space. They stay in the journal, in a new entry.
    package private(set) var postponed: [Mutation] = []
    /// The new records that replace deleted ones: those that the entry changes, and those that its changes refer to.
    package private(set) var replacements: [Replacement] = []
    /// The optional references that the edits leave out, because their targets are not on this device.
    package private(set) var droppedReferences: [DroppedReference] = []
    private let records: Records
    /// The values of deleted records that the entry has.
    private let deleted: [RecordAddress: Patch]
    /// The new ids of records that replace deleted ones, in this plan or an earlier one.
    private var newIDs: [RecordAddress: RecordID] = [:]
    /// The records that the plan creates under their own ids.
    private var created: Set<RecordAddress> = []

    /// A deleted record that is created again under a new id.
    package struct Replacement: Hashable, Sendable {
        package let collection: CollectionName
        package let deleted: RecordID
        package let replacement: RecordID
    }

    /// A reference to set once its target is created again.
    package struct DroppedReference: Hashable, Sendable {
        package let record: RecordAddress
        package let field: FieldName
        package let target: RecordAddress

        package init(record: RecordAddress, field: FieldName, target: RecordAddress) {
            self.record = record
            self.field = field
            self.target = target
        }
    }

    /// The records that the plan creates: those in place of deleted ones, and those under their own ids.
    package var creations: [Replacement] {
        let new = Set(replacements.map(\.replacement))
        let own = transactions.joined().compactMap { edit -> Replacement? in
            guard case .create(let collection, let id, _) = edit, !new.contains(id) else { return nil }
            return Replacement(collection: collection, deleted: id, replacement: id)
        }
        return replacements + own
    }

    /// The records of the database, as far as a plan needs them.
    package struct Records {
        let catalog: SchemaCatalog
        let newID: () -> RecordID
        let replacement: (RecordAddress) throws -> RecordID?
        let space: (RecordAddress) throws -> SpaceID?

        /// Creates the view of the records.
        ///
        /// - Parameters:
        ///   - newID: Makes the id of a record that replaces a deleted one.
        ///   - replacement: Returns the record that an earlier plan created in place of a deleted one, or nil when
        ///     there is none.
        ///   - space: Returns the space that a record is in now, or nil when it is not on this device.
        package init(
            _ catalog: SchemaCatalog, newID: @escaping () -> RecordID,
            replacement: @escaping (RecordAddress) throws -> RecordID?,
            space: @escaping (RecordAddress) throws -> SpaceID?
        ) {
            self.catalog = catalog
            self.newID = newID
            self.replacement = replacement
            self.space = space
        }
    }

    /// Plans how to restore an entry.
    ///
    /// A rejected or cancelled transaction is written again unchanged, as one transaction, except that records deleted
    /// since are created again under new ids, and its references follow them. Forgotten changes are restored in the
    /// smallest parts that can stand alone: they were not written together, and a part that the server rejects must not
    /// take the others with it.
    ///
    /// - Parameter space: The space of an entry about conflicts. A transaction names its own.
    /// - Throws: `StoreError` with the code `entryIsFrozen` when the entry has been restored already;
    ///   `danglingReference` when no part of the entry can be restored; `missingRecord` when a deleted record lacks a
    ///   required value; or an error that `records` throws.
    package init(of entry: JournalEntry, in space: SpaceID, _ records: Records) throws {
        try entry.requireNotRestored()
        self.records = records
        var creates = entry.records?.mutations ?? []
        if case .overwritten(_, let records?) = entry.event { creates += records.mutations }
        deleted = Dictionary(creates.map { ($0.address, $0.patch) }) { first, _ in first }
        switch entry.event {
        case .merged(let conflicts), .overwritten(let conflicts, _):
            self.space = space
            try restoreLosers(of: conflicts, of: entry.number)
        case .rejected(let transaction, let rejection):
            self.space = transaction.space
            try restoreTransaction(transaction, rejection, of: entry.number)
        case .cancelled(let transaction):
            self.space = transaction.space
            try restoreTransaction(transaction, nil, of: entry.number)
        case .forgotten(let transaction):
            self.space = transaction.space
            try restoreForgotten(transaction)
        }
    }

    // MARK: Rejected and cancelled transactions

    private mutating func restoreTransaction(
        _ transaction: Transaction, _ rejection: Rejection?, of number: Int64
    ) throws {
        // Find the new ids first, because a reference may come before the record that it names.
        for (position, mutation) in transaction.mutations.enumerated() {
            let address = mutation.address
            guard try records.space(address) == nil else { continue }
            if let earlier = try earlierReplacement(of: address) {
                newIDs[address] = earlier
                continue
            }
            switch mutation.intent {
            // Other creates keep their ids, because other entries refer to them. A rejection without a position is
            // about the whole transaction.
            case .create where rejection?.code == .recordDeleted && (rejection?.mutation ?? position) == position:
                replace(address)
            case .create: created.insert(address)
            case .update: if deleted[address] != nil { replace(address) }
            case .delete: break
            }
        }
        var edits: [RecordEdit] = []
        for mutation in transaction.mutations {
            let (id, collection) = (newIDs[mutation.address] ?? mutation.record, mutation.collection)
            let current = try records.space(RecordAddress(collection, id))
            let isHere = current == space
            let isNew = replacements.contains { $0.replacement == id }
            let whole = isNew ? deleted[mutation.address] : nil
            let patch = try redirecting(
                whole ?? mutation.patch, of: RecordAddress(collection, id), droppingMissing: whole != nil)
            switch mutation.intent {
            case .create where isHere: edits.append(.update(collection, id, patch))
            case .create: edits.append(.create(collection, id, patch))
            case .update where isNew: edits.append(.create(collection, id, patch))
            case .update where current != nil || created.contains(mutation.address):
                edits.append(.update(collection, id, patch))
            case .update:
                throw StoreError(
                    .missingRecord,
                    "\(collection) \(id) is not on this device, and entry \(number) does not have its other values: create a new record with the values of the entry"
                )
            case .delete: if isHere { edits.append(.delete(collection, id)) }
            }
        }
        transactions = [try addingTargets(of: edits)]
    }

    // MARK: References

    /// Returns the edits with creates of the deleted records that they refer to, under new ids.
    ///
    /// References to records whose values the entry does not have stay as they are.
    private mutating func addingTargets(of edits: [RecordEdit]) throws -> [RecordEdit] {
        var all = edits
        var position = 0
        while position < all.count {
            let edit = all[position]
            position += 1
            for (name, value) in edit.patch {
                guard case .reference(let id) = value,
                    let target = records.catalog[edit.collection]?.field(named: name)?.target,
                    case let address = RecordAddress(target, id), newIDs[address] == nil, !created.contains(address),
                    try records.space(address) == nil, let patch = deleted[address]
                else { continue }
                let new = RecordAddress(target, replace(address))
                all.append(.create(target, new.id, try redirecting(patch, of: new, droppingMissing: true)))
            }
        }
        return try all.map { edit in
            let patch = try redirecting(
                edit.patch, of: RecordAddress(edit.collection, edit.record), droppingMissing: false)
            return switch edit {
            case .create(let collection, let id, _): .create(collection, id, patch)
            case .update(let collection, let id, _): .update(collection, id, patch)
            case .delete: edit
            }
        }
    }

    /// Returns the patch of a record with its references redirected to the records that replaced deleted ones.
    ///
    /// - Parameter drops: Whether to leave out, and note, optional references to records that do not exist, and that
    ///   the plan does not create again.
    private mutating func redirecting(
        _ patch: Patch, of record: RecordAddress, droppingMissing drops: Bool
    ) throws -> Patch {
        var result = patch
        for (name, value) in patch {
            guard case .reference(let id) = value, let field = records.catalog[record.collection]?.field(named: name),
                let target = field.target, case let address = RecordAddress(target, id), !created.contains(address),
                try records.space(address) == nil
            else { continue }
            if let new = newIDs[address] {
                result.set(name, to: .reference(new))
            } else if let earlier = try records.replacement(address),
                try records.space(RecordAddress(target, earlier)) != nil
            {
                result.set(name, to: .reference(earlier))
            } else if drops, !field.isRequired, deleted[address] == nil {
                result.remove(name)
                droppedReferences.append(DroppedReference(record: record, field: name, target: address))
            }
        }
        return result
    }

    /// Returns the record of this space that an earlier plan created in place of a deleted one.
    private func earlierReplacement(of address: RecordAddress) throws -> RecordID? {
        guard let id = try records.replacement(address),
            try records.space(RecordAddress(address.collection, id)) == space
        else { return nil }
        return id
    }

    @discardableResult
    private mutating func replace(_ address: RecordAddress) -> RecordID {
        let new = records.newID()
        newIDs[address] = new
        replacements.append(Replacement(collection: address.collection, deleted: address.id, replacement: new))
        return new
    }

    // MARK: Losing values

    /// Writes the losing values over the current records, and creates deleted records again under new ids.
    ///
    /// - Parameter number: The number of the entry.
    private mutating func restoreLosers(of conflicts: [FieldConflict], of number: Int64) throws {
        var order: [RecordAddress] = []
        var losers: [RecordAddress: Patch] = [:]
        for conflict in conflicts {
            let address = RecordAddress(conflict.collection, conflict.record)
            if losers[address] == nil { order.append(address) }
            losers[address, default: Patch()].set(conflict.field, to: conflict.loser.value)
        }
        for address in order where try records.space(address) != space {
            if let earlier = try earlierReplacement(of: address) { newIDs[address] = earlier } else { replace(address) }
        }
        var edits: [RecordEdit] = []
        for address in order {
            let (id, collection) = (newIDs[address] ?? address.id, address.collection)
            let record = RecordAddress(collection, id)
            let lost = try redirecting(losers[address] ?? Patch(), of: record, droppingMissing: false)
            guard replacements.contains(where: { $0.replacement == id }) else {
                edits.append(.update(collection, id, lost))
                continue
            }
            var patch = try redirecting(deleted[address] ?? Patch(), of: record, droppingMissing: true)
            for (field, value) in lost { patch.set(field, to: value) }
            let missing = records.catalog[collection]?.fields.filter { $0.isRequired && patch[$0.name] == nil } ?? []
            guard missing.isEmpty else {
                throw StoreError(
                    .missingRecord,
                    "\(collection) \(address.id) is not on this device, and entry \(number) lacks its \(missing.map(\.name.rawValue).joined(separator: ", ")): create a new record with the values of the entry"
                )
            }
            edits.append(.create(collection, id, patch))
        }
        transactions = [try addingTargets(of: edits)]
    }

    // MARK: Forgotten changes

    private mutating func restoreForgotten(_ forgotten: Transaction) throws {
        // A part never refers to a later one, so every referenced record is here, already planned, or missing.
        var planned: Set<RecordAddress> = []
        for part in forgotten.referenceGroups {
            let creations = part.filter { if case .create = $0.intent { true } else { false } }
            planned.formUnion(creations.map(\.address))
            var edits: [RecordEdit] = []
            var dropped: [DroppedReference] = []
            var lacksRecord = false
            for mutation in part {
                let (id, collection) = (mutation.record, mutation.collection)
                let current = try records.space(mutation.address)
                let earlier = current == nil ? try earlierReplacement(of: mutation.address) : nil
                var patch = mutation.patch
                for (name, value) in mutation.patch {
                    guard case .reference(let target) = value,
                        let field = records.catalog[collection]?.field(named: name), let targets = field.target,
                        case let address = RecordAddress(targets, target), !planned.contains(address),
                        try records.space(address) != space
                    else { continue }
                    if let earlier = try earlierReplacement(of: address) {
                        patch.set(name, to: .reference(earlier))
                        continue
                    }
                    patch.remove(name)
                    // A missing record in an optional reference does not hold up the rest.
                    if field.isRequired {
                        lacksRecord = true
                    } else {
                        let record = RecordAddress(collection, earlier ?? id)
                        dropped.append(DroppedReference(record: record, field: name, target: address))
                    }
                }
                if let earlier {
                    if !patch.isEmpty { edits.append(.update(collection, earlier, patch)) }
                    continue
                }
                switch (mutation.intent, current) {
                case (.delete, _): break
                case (_, let current?) where current != space: lacksRecord = true
                case (.create, nil): edits.append(.create(collection, id, patch))
                // The record was deleted after this edit.
                case (.update, nil) where !planned.contains(mutation.address): break
                case (.create, _), (.update, _): edits.append(.update(collection, id, patch))
                }
            }
            if lacksRecord {
                postponed += part
                planned.subtract(creations.map(\.address))
            } else {
                transactions.append(edits)
                droppedReferences += dropped
            }
        }
        guard postponed.count < forgotten.mutations.count else {
            throw StoreError(
                .danglingReference,
                "the entry refers to records that are not on this device, or its ids are in use in another space: restore the entries with those records first"
            )
        }
    }
}

extension JournalEntry {
    /// - Throws: `entryIsFrozen` when the entry has been restored.
    package func requireNotRestored() throws(StoreError) {
        guard state != .restored else {
            throw StoreError(.entryIsFrozen, "journal entry \(number) has been restored already")
        }
    }
}

extension RecordEdit {
    fileprivate var patch: Patch {
        switch self {
        case .create(_, _, let patch), .update(_, _, let patch): patch
        case .delete: Patch()
        }
    }
}
