import SyncModel

// Restores a rejected or cancelled transaction, and the values that lost to other edits.
extension RestorePlan {
    mutating func restoreTransaction(
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
            // A create gets a new id only if it was rejected because its id is used up. Other creates keep their ids,
            // because other entries refer to them. A rejection without a position is about the whole transaction.
            case .create where rejection?.isOfUsedID == true && (rejection?.mutation ?? position) == position:
                replace(address)
            case .create: created.insert(address)
            case .update: if try values(ofDeleted: address) != nil { replace(address) }
            case .delete: break
            }
        }
        removed = Set(
            transaction.mutations.filter { if case .delete = $0.intent { true } else { false } }.map(\.address))
        var edits: [RecordEdit] = []
        var writesChanges = false
        for mutation in transaction.mutations {
            let (id, collection) = (newIDs[mutation.address] ?? mutation.record, mutation.collection)
            let current = try records.space(RecordAddress(collection, id))
            let isHere = current == space
            let isNew = newIDs[mutation.address] != nil && created.contains(RecordAddress(collection, id))
            // Only an update needs the other values of its record. A create has all its values, and values that the
            // device has shown since belong to another create.
            let whole: Patch? = if isNew, mutation.isUpdate { try values(ofDeleted: mutation.address) } else { nil }
            var patch = whole ?? Patch()
            for (field, value) in mutation.patch { patch.set(field, to: value) }
            patch = try redirecting(patch, of: RecordAddress(collection, id), droppingMissing: whole != nil)
            if !mutation.isUpdate || mutation.patch.contains(where: { patch[$0.field] != nil }) { writesChanges = true }
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
        try require(writesChanges)
        transactions = [try addingTargets(of: edits)]
    }

    // MARK: Losing values

    /// Writes the losing values over the current records, and creates deleted records again under new ids.
    ///
    /// - Parameter number: The number of the entry.
    mutating func restoreLosers(of conflicts: [FieldConflict], of number: Int64) throws {
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
        var writesChanges = false
        for address in order {
            let (id, collection) = (newIDs[address] ?? address.id, address.collection)
            let record = RecordAddress(collection, id)
            let lost = try redirecting(losers[address] ?? Patch(), of: record, droppingMissing: false)
            if !lost.isEmpty { writesChanges = true }
            guard newIDs[address] != nil, created.contains(record) else {
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
        try require(writesChanges)
        transactions = [try addingTargets(of: edits)]
    }
}

extension Mutation {
    fileprivate var isUpdate: Bool { if case .update = intent { true } else { false } }
}

extension Rejection {
    /// Whether the server rejected a create because its record has been deleted, or is in another space.
    fileprivate var isOfUsedID: Bool { code == .recordDeleted || code == .duplicateRecord }
}
