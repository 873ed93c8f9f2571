import SyncModel

// Creates deleted records again under new ids, and redirects references to them.
extension RestorePlan {
    /// Returns the edits, followed by creates of the deleted records that they refer to, under new ids.
    ///
    /// A required reference stays as it is if the values of its deleted target are unknown. `redirecting` decides about
    /// optional references.
    mutating func addingTargets(of edits: [RecordEdit]) throws -> [RecordEdit] {
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
                all.append(.create(target, new.id, try redirecting(patch, of: new, droppingRestorable: true)))
            }
        }
        return try all.map { edit in
            let patch = try redirecting(
                edit.patch, of: RecordAddress(edit.collection, edit.record), droppingRestorable: false)
            return switch edit {
            case .create(let collection, let id, _): .create(collection, id, patch)
            case .update(let collection, let id, _): .update(collection, id, patch)
            case .delete: edit
            }
        }
    }

    /// Returns the patch of a record with its references redirected to the records that replaced deleted ones.
    ///
    /// Optional references to records that nothing can create again are left out, and added to `droppedReferences`.
    ///
    /// - Parameter drops: Whether to leave out optional references to a record that another entry can create, or that
    ///   this plan deletes.
    mutating func redirecting(
        _ patch: Patch, of record: RecordAddress, droppingRestorable drops: Bool
    ) throws -> Patch {
        var result = patch
        for (name, value) in patch {
            guard case .reference(let id) = value, let field = records.catalog[record.collection]?.field(named: name),
                let target = field.target, case let address = RecordAddress(target, id), !created.contains(address),
                case let current = try records.space(address),
                current != space || drops && removed.contains(address)
            else { continue }
            if let new = newIDs[address] {
                result.set(name, to: .reference(new))
            } else if let earlier = try records.replacement(address),
                try records.space(RecordAddress(target, earlier)) == space
            {
                result.set(name, to: .reference(earlier))
            } else if !field.isRequired, current == nil || current == space, try values(ofDeleted: address) == nil,
                try drops || !records.isOffered(address)
            {
                result.remove(name)
                droppedReferences.append(DroppedReference(record: record, field: name, target: address))
            }
        }
        return result
    }

    /// Checks that the plan still writes something after references were dropped.
    ///
    /// - Parameter writesChanges: Whether the plan writes at least one change of the entry.
    /// - Throws: `danglingReference` when the plan writes none of the changes and has dropped a reference.
    func requireChanges(_ writesChanges: Bool) throws {
        guard !writesChanges, let dropped = droppedReferences.first else { return }
        throw StoreError(
            .danglingReference,
            "\(dropped.record): \(dropped.field) refers to \(dropped.target), which no longer exists")
    }

    /// Returns the values with which a deleted record is created again under a new id; nil when its values are unknown,
    /// or when another entry in the journal can create it.
    ///
    /// The entry has the values if a server had shown the record. Otherwise, if the restore of an earlier entry created
    /// the record, that entry has them.
    func values(ofDeleted address: RecordAddress) throws -> Patch? {
        guard let values = try deleted[address] ?? records.restoredCreation(address), try !records.isOffered(address)
        else { return nil }
        return values
    }

    /// Returns the record of this space that an earlier plan created in place of a deleted one.
    func earlierReplacement(of address: RecordAddress) throws -> RecordID? {
        guard let id = try records.replacement(address),
            try records.space(RecordAddress(address.collection, id)) == space
        else { return nil }
        return id
    }

    @discardableResult
    mutating func replace(_ address: RecordAddress) -> RecordID {
        let new = records.newID()
        newIDs[address] = new
        created.insert(RecordAddress(address.collection, new))
        replacements.append(Replacement(collection: address.collection, deleted: address.id, replacement: new))
        return new
    }
}
