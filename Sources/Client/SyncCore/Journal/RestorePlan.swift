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
    /// The records that the plan creates, those in place of deleted ones under their new ids.
    private var created: Set<RecordAddress> = []
    /// Whether the plan writes at least one of the changes that the entry is about.
    private var keepsContents = false
    /// The records that the plan deletes.
    private var removed: Set<RecordAddress> = []

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
        let isOffered: (RecordAddress) throws -> Bool

        /// Creates the view of the records.
        ///
        /// - Parameters:
        ///   - newID: Makes the id of a record that replaces a deleted one.
        ///   - replacement: Returns the record that an earlier plan created in place of a deleted one, or nil when
        ///     there is none.
        ///   - space: Returns the space that a record is in now, or nil when it is not on this device.
        ///   - isOffered: Returns whether another entry creates a record under its own id when it is restored.
        package init(
            _ catalog: SchemaCatalog, newID: @escaping () -> RecordID,
            replacement: @escaping (RecordAddress) throws -> RecordID?,
            space: @escaping (RecordAddress) throws -> SpaceID?,
            isOffered: @escaping (RecordAddress) throws -> Bool
        ) {
            self.catalog = catalog
            self.newID = newID
            self.replacement = replacement
            self.space = space
            self.isOffered = isOffered
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
            case .update: if try values(ofDeleted: address) != nil { replace(address) }
            case .delete: break
            }
        }
        removed = Set(
            transaction.mutations.filter { if case .delete = $0.intent { true } else { false } }.map(\.address))
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
            case .update where !mutation.patch.contains { patch[$0.field] != nil }: break
            case .create, .update, .delete: keepsContents = true
            }
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
        transactions = [try requiringContents(of: try addingTargets(of: edits))]
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
                    try records.space(address) == nil, let patch = try values(ofDeleted: address)
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
    /// Optional references to records that nothing can create again are left out, and noted.
    ///
    /// - Parameter drops: Whether to leave out those to records that other entries create, too.
    private mutating func redirecting(
        _ patch: Patch, of record: RecordAddress, droppingMissing drops: Bool
    ) throws -> Patch {
        var result = patch
        for (name, value) in patch {
            guard case .reference(let id) = value, let field = records.catalog[record.collection]?.field(named: name),
                let target = field.target, case let address = RecordAddress(target, id), !created.contains(address),
                try records.space(address) == nil || drops && removed.contains(address)
            else { continue }
            if let new = newIDs[address] {
                result.set(name, to: .reference(new))
            } else if let earlier = try records.replacement(address),
                try records.space(RecordAddress(target, earlier)) != nil
            {
                result.set(name, to: .reference(earlier))
            } else if !field.isRequired, try values(ofDeleted: address) == nil, try drops || !records.isOffered(address)
            {
                result.remove(name)
                droppedReferences.append(DroppedReference(record: record, field: name, target: address))
            }
        }
        return result
    }

    /// Returns the edits.
    ///
    /// - Throws: `danglingReference` when they hold none of the entry's changes, because references were left out.
    private func requiringContents(of edits: [RecordEdit]) throws -> [RecordEdit] {
        guard !keepsContents, let dropped = droppedReferences.first else { return edits }
        throw StoreError(
            .danglingReference,
            "\(dropped.record): \(dropped.field) refers to \(dropped.target), which does not exist any more")
    }

    /// Returns the values with which a deleted record is created again under a new id; nil when the entry does not have
    /// them, or when another entry creates the record under its own id.
    private func values(ofDeleted address: RecordAddress) throws -> Patch? {
        guard let values = deleted[address], try !records.isOffered(address) else { return nil }
        return values
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
        created.insert(RecordAddress(address.collection, new))
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
            if let earlier = try earlierReplacement(of: address) {
                newIDs[address] = earlier
            } else if try records.isOffered(address) {
                throw StoreError(
                    .missingRecord, "\(address) is not on this device: restore the entry that creates it first")
            } else {
                replace(address)
            }
        }
        var edits: [RecordEdit] = []
        for address in order {
            let (id, collection) = (newIDs[address] ?? address.id, address.collection)
            let record = RecordAddress(collection, id)
            let lost = try redirecting(losers[address] ?? Patch(), of: record, droppingMissing: false)
            if !lost.isEmpty { keepsContents = true }
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
        transactions = [try requiringContents(of: try addingTargets(of: edits))]
    }

    // MARK: Forgotten changes

    private mutating func restoreForgotten(_ forgotten: Transaction) throws {
        // A part never refers to a later one, so every referenced record is here, already planned, or missing.
        for part in forgotten.referenceGroups {
            let restored = try restorable(part)
            guard !restored.isEmpty else { continue }
            var edits: [RecordEdit] = []
            for mutation in restored { if let edit = try edit(restoring: mutation) { edits.append(edit) } }
            transactions.append(try addingTargets(of: edits))
        }
        guard postponed.count < forgotten.mutations.count else {
            throw StoreError(
                .danglingReference,
                "the entry refers to records that are not on this device, or its ids are in use in another space: restore the entries with those records first"
            )
        }
    }

    /// Returns the changes of a part that can be restored together, and postpones the others.
    private mutating func restorable(_ part: [Mutation]) throws -> [Mutation] {
        let before = created
        var rest = part
        while true {
            created = before
            for mutation in rest {
                guard case .create = mutation.intent else { continue }
                let address = mutation.address
                if try records.space(address) != nil || earlierReplacement(of: address) == nil {
                    created.insert(address)
                }
            }
            // A change that is postponed may take away a record that another one requires.
            var (kept, held): ([Mutation], [Mutation]) = ([], [])
            for mutation in rest {
                if try canRestore(forgotten: mutation) { kept.append(mutation) } else { held.append(mutation) }
            }
            guard !held.isEmpty else { return rest }
            postponed += held
            rest = kept
        }
    }

    /// Returns whether the record of a forgotten change, and those that it requires, are here or can be created again.
    private func canRestore(forgotten mutation: Mutation) throws -> Bool {
        guard try canWrite(to: mutation.address, creating: mutation.intent) else { return false }
        return try mutation.patch.allSatisfy { name, value in
            guard case .reference(let id) = value,
                let field = records.catalog[mutation.collection]?.field(named: name), field.isRequired,
                let target = field.target
            else { return true }
            return try canRefer(to: RecordAddress(target, id))
        }
    }

    private func canWrite(to address: RecordAddress, creating intent: Mutation.Intent) throws -> Bool {
        if let current = try records.space(address) { return current == space }
        switch intent {
        case .create, .delete: return true
        case .update:
            if created.contains(address) || newIDs[address] != nil { return true }
            return try earlierReplacement(of: address) != nil || values(ofDeleted: address) != nil
        }
    }

    private func canRefer(to address: RecordAddress) throws -> Bool {
        if created.contains(address) || newIDs[address] != nil { return true }
        if try records.space(address) == space { return true }
        if try earlierReplacement(of: address) != nil { return true }
        return try records.space(address) == nil && values(ofDeleted: address) != nil
    }

    /// Returns the edit that restores a forgotten change; nil for a delete, which is never restored.
    ///
    /// An optional reference to a record that cannot be restored does not hold up the rest. It is left out, and noted.
    private mutating func edit(restoring mutation: Mutation) throws -> RecordEdit? {
        let (address, collection) = (mutation.address, mutation.collection)
        var patch = mutation.patch
        var id = mutation.record
        var creates = false
        switch mutation.intent {
        case .delete: return nil
        case .create where try records.space(address) == nil:
            if let earlier = try earlierReplacement(of: address) { id = earlier } else { creates = true }
        case .create: break
        case .update where try records.space(address) == nil && !created.contains(address):
            if let new = try newIDs[address] ?? earlierReplacement(of: address) {
                id = new
            } else if var whole = try values(ofDeleted: address) {
                id = replace(address)
                creates = true
                for (name, value) in patch { whole.set(name, to: value) }
                patch = whole
            }
        case .update: break
        }
        for (name, value) in patch {
            guard case .reference(let target) = value, let field = records.catalog[collection]?.field(named: name),
                let targets = field.target, !field.isRequired,
                case let address = RecordAddress(targets, target), try !canRefer(to: address)
            else { continue }
            patch.remove(name)
            droppedReferences.append(
                DroppedReference(record: RecordAddress(collection, id), field: name, target: address))
        }
        patch = try redirecting(patch, of: RecordAddress(collection, id), droppingMissing: false)
        return creates ? .create(collection, id, patch) : .update(collection, id, patch)
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
    /// The values that the edit sets; empty for a delete.
    package var patch: Patch {
        switch self {
        case .create(_, _, let patch), .update(_, _, let patch): patch
        case .delete: Patch()
        }
    }
}
