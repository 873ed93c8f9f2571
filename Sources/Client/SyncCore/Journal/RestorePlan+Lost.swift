import SyncModel

// Restores lost changes: those that only a lost history of the server or a damaged database had.
extension RestorePlan {
    mutating func restoreLost(_ lost: Transaction) throws {
        // A part never refers to a later one, so every referenced record is here, already planned, or missing.
        for part in lost.referenceGroups {
            let restored = try restorable(part)
            guard !restored.isEmpty else { continue }
            var edits: [RecordEdit] = []
            for mutation in restored { if let edit = try edit(restoring: mutation) { edits.append(edit) } }
            transactions.append(try addingTargets(of: edits))
            parts.append(restored)
        }
        guard !parts.isEmpty else { throw try refusal(of: lost) }
    }

    /// Returns the error for an entry of which nothing can be restored.
    private func refusal(of lost: Transaction) throws -> StoreError {
        for mutation in lost.mutations {
            guard let current = try records.space(mutation.address), current != space else { continue }
            return StoreError(
                .duplicateRecord,
                "the id of \(mutation.address) is in use in the space \(current) now, so the record cannot come back to the space \(space): create a new record with the values of the entry, and then dismiss the entry"
            )
        }
        return StoreError(
            .danglingReference,
            "the entry refers to records that are not on this device: restore the entries with those records first")
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
                if try canRestore(lost: mutation) { kept.append(mutation) } else { held.append(mutation) }
            }
            guard !held.isEmpty else { break }
            postponed += held
            rest = kept
        }
        return try rest.compactMap { try postponingReferences(of: $0) }
    }

    /// Postpones the optional references that an update sets to records that cannot be restored. Another device may
    /// still bring these records back.
    ///
    /// - Returns: the rest of the update; nil if nothing is left. A create is returned whole.
    private mutating func postponingReferences(of mutation: Mutation) throws -> Mutation? {
        guard case .update = mutation.intent else { return mutation }
        var missing: Set<FieldName> = []
        for (name, value) in mutation.patch {
            guard case .reference(let id) = value,
                let target = records.catalog[mutation.collection]?.field(named: name)?.target,
                try !canRefer(to: RecordAddress(target, id))
            else { continue }
            missing.insert(name)
        }
        guard !missing.isEmpty else { return mutation }
        if let part = mutation.part(where: missing.contains) { postponed.append(part) }
        return mutation.part { !missing.contains($0) }
    }

    /// Returns whether the record of a lost change, and the records that the change requires, are in this space or
    /// can be created again.
    private func canRestore(lost mutation: Mutation) throws -> Bool {
        guard try canWrite(to: mutation.address, by: mutation.intent) else { return false }
        return try mutation.patch.allSatisfy { name, value in
            guard case .reference(let id) = value,
                let field = records.catalog[mutation.collection]?.field(named: name), field.isRequired,
                let target = field.target
            else { return true }
            return try canRefer(to: RecordAddress(target, id))
        }
    }

    private func canWrite(to address: RecordAddress, by intent: Mutation.Intent) throws -> Bool {
        if let current = try records.space(address) { return current == space }
        switch intent {
        case .create, .delete: return true
        case .update:
            if created.contains(address) || newIDs[address] != nil { return true }
            return try earlierReplacement(of: address) != nil || values(ofDeleted: address) != nil
        }
    }

    /// Whether the record is in this space, or can be created again.
    func canRefer(to address: RecordAddress) throws -> Bool {
        if created.contains(address) || newIDs[address] != nil { return true }
        if try records.space(address) == space { return true }
        if try earlierReplacement(of: address) != nil { return true }
        return try records.space(address) == nil && values(ofDeleted: address) != nil
    }

    /// Returns the edit that restores a lost change; nil for a delete, which is never restored.
    ///
    /// An optional reference to a record that cannot be restored is left out, and added to `droppedReferences`.
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
        patch = try redirecting(patch, of: RecordAddress(collection, id), droppingRestorable: false)
        return creates ? .create(collection, id, patch) : .update(collection, id, patch)
    }
}
