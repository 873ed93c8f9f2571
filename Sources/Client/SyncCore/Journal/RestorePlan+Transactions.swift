import SyncModel

// Restores a rejected or cancelled transaction, and the values that lost to other edits.
extension RestorePlan {
    mutating func restoreTransaction(
        _ transaction: Transaction, _ rejection: Rejection?, of number: Int64
    ) throws {
        // Find the new ids first, because a reference may come before the record that it names.
        for (position, mutation) in transaction.mutations.enumerated() {
            let address = mutation.address
            let current = try records.space(address)
            guard current != space else { continue }
            if let earlier = try earlierReplacement(of: address) {
                newIDs[address] = earlier
                continue
            }
            switch mutation.intent {
            // A create gets a new id only if its id is used up: a record of another space has it, or the server
            // rejected the create because of it. Other creates keep their ids, because other entries refer to them. A
            // rejection without a position is about the whole transaction.
            case .create where current != nil: replace(address)
            case .create where rejection?.isOfUsedID == true && (rejection?.mutation ?? position) == position:
                replace(address)
            case .create: created.insert(address)
            case .update: if current == nil, try values(ofDeleted: address) != nil { replace(address) }
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
            // Only an update needs the other values of its record. A create is complete. Values that were shown later
            // belong to another create of that id, and must not be mixed in.
            let whole: Patch? = if isNew, mutation.isUpdate { try values(ofDeleted: mutation.address) } else { nil }
            var patch = whole ?? Patch()
            for (field, value) in mutation.patch { patch.set(field, to: value) }
            patch = try redirecting(patch, of: RecordAddress(collection, id), droppingRestorable: whole != nil)
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
        try requireChanges(writesChanges)
        transactions = [try addingTargets(of: edits)]
    }

    // MARK: Losing values

    /// Writes the losing values over the current records, and creates deleted records again under new ids.
    ///
    /// Each value is restored independently. Values of a deleted record that cannot be created again are postponed, as
    /// are required references to such a record. Throws if no other value is left.
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
        var unwritable: [RecordAddress: Patch] = [:]
        var firstObstacle: StoreError?
        func postpone(_ name: FieldName, of address: RecordAddress, because obstacle: StoreError) {
            guard let value = losers[address]?[name] else { return }
            losers[address]?.remove(name)
            unwritable[address, default: Patch()].set(name, to: value)
            firstObstacle = firstObstacle ?? obstacle
        }
        for address in order {
            for (name, target) in try danglingReferences(in: losers[address] ?? Patch(), of: address.collection) {
                let text = "\(address): \(name) refers to \(target), which is not on this device"
                postpone(name, of: address, because: StoreError(.danglingReference, text))
            }
        }
        for address in order where try records.space(address) != space && losers[address]?.isEmpty == false {
            if let earlier = try earlierReplacement(of: address) {
                newIDs[address] = earlier
            } else if try records.isOffered(address) {
                throw StoreError(
                    .missingRecord, "\(address) is not on this device: restore the entry that creates it first")
            } else if let obstacle = try obstacle(toCreating: address, with: losers[address] ?? Patch(), number) {
                for (name, _) in losers[address] ?? Patch() { postpone(name, of: address, because: obstacle) }
            } else {
                replace(address)
            }
        }
        if let firstObstacle, losers.values.allSatisfy(\.isEmpty) { throw firstObstacle }
        postponed = order.compactMap { address in
            unwritable[address].map { patch in
                let edits = patch.map { FieldEdit(field: $0, value: $1, before: $1, seen: .zero) }
                return Mutation(
                    collection: address.collection, record: address.id, time: .zero, intent: .update(edits))
            }
        }
        var edits: [RecordEdit] = []
        var writesChanges = false
        for address in order where losers[address]?.isEmpty == false {
            let (id, collection) = (newIDs[address] ?? address.id, address.collection)
            let record = RecordAddress(collection, id)
            let lost = try redirecting(losers[address] ?? Patch(), of: record, droppingRestorable: false)
            if !lost.isEmpty { writesChanges = true }
            guard newIDs[address] != nil, created.contains(record) else {
                edits.append(.update(collection, id, lost))
                continue
            }
            var patch = try redirecting(deleted[address] ?? Patch(), of: record, droppingRestorable: true)
            for (field, value) in lost { patch.set(field, to: value) }
            edits.append(.create(collection, id, patch))
        }
        try requireChanges(writesChanges)
        transactions = [try addingTargets(of: edits)]
    }

    /// Returns the required references of a patch to records that are not here and cannot be created again.
    private func danglingReferences(
        in patch: Patch, of collection: CollectionName
    ) throws -> [(field: FieldName, target: RecordAddress)] {
        try patch.compactMap { name, value in
            guard case .reference(let id) = value, let field = records.catalog[collection]?.field(named: name),
                field.isRequired, let target = field.target, case let address = RecordAddress(target, id),
                try !canRefer(to: address)
            else { return nil }
            return (name, address)
        }
    }

    /// Returns why a deleted record cannot be created again from `values` and the values that the entry has of it; nil
    /// if it can.
    private func obstacle(
        toCreating address: RecordAddress, with values: Patch, _ number: Int64
    ) throws -> StoreError? {
        var known = deleted[address] ?? Patch()
        for (name, value) in values { known.set(name, to: value) }
        if let (name, target) = try danglingReferences(in: known, of: address.collection).first {
            return StoreError(
                .danglingReference, "\(address): \(name) refers to \(target), which is not on this device")
        }
        let missing = (records.catalog[address.collection]?.fields ?? []).filter { field in
            field.isRequired && known[field.name] == nil
        }
        guard !missing.isEmpty else { return nil }
        return StoreError(
            .missingRecord,
            "\(address.collection) \(address.id) is not on this device, and entry \(number) lacks its \(missing.map(\.name.rawValue).joined(separator: ", ")): create a new record with the values of the entry"
        )
    }
}

extension Mutation {
    fileprivate var isUpdate: Bool { if case .update = intent { true } else { false } }
}

extension Rejection {
    /// Whether the server rejected a create because its record has been deleted, or is in another space.
    fileprivate var isOfUsedID: Bool { code == .recordDeleted || code == .duplicateRecord }
}
