package import SyncModel

/// The edits that apply a journal entry again, over the current records.
package struct RestorePlan: Hashable, Sendable {
    package let space: SpaceID
    /// The edits of each transaction, in writing order.
    package private(set) var transactions: [[RecordEdit]] = []
    /// Mutations that require a record that is not here, or whose id is used in another space. They stay in the
    /// journal, in a new entry.
    package private(set) var left: [Mutation] = []
    /// The new records that replace deleted ones: those that the entry changes, and those that its changes refer to.
    package private(set) var replacements: [Replacement] = []

    /// A deleted record that is created again under a new id.
    package struct Replacement: Hashable, Sendable {
        package let collection: CollectionName
        package let deleted: RecordID
        package let replacement: RecordID
    }

    /// Plans how to restore an entry.
    ///
    /// - Parameters:
    ///   - entry: A rejected or cancelled transaction is repeated unchanged, as one transaction, except that records
    ///     deleted since are created again under new ids, and its references follow them. Forgotten changes are
    ///     restored in the smallest parts that can stand alone: they were not written together, and a part that the
    ///     server rejects must not take the others with it.
    ///   - replacement: Returns the record that an earlier plan created in place of a deleted one, or nil when there is
    ///     none.
    ///   - home: Returns the space that a record is in now, or nil when it is not here.
    ///   - newID: Makes the id of a record that replaces a deleted one.
    /// - Throws: `StoreError` with the code `entryIsFrozen` when the entry has been sent again already;
    ///   `danglingReference` when all of it requires records that are not here; or an error that `home` throws.
    package init(
        of entry: JournalEntry, in space: SpaceID, catalog: SchemaCatalog, newID: () -> RecordID,
        replacement: (RecordAddress) throws -> RecordID?,
        home: (RecordAddress) throws -> SpaceID?
    ) throws {
        guard entry.state != .restored else {
            throw StoreError(.entryIsFrozen, "journal entry \(entry.number) has been restored already")
        }
        switch entry.event {
        case .merged(let conflicts), .overwritten(let conflicts, _):
            self.space = space
            var records = entry.records?.mutations ?? []
            if case .overwritten(_, let deleted?) = entry.event { records += deleted.mutations }
            try restore(
                conflicts, of: entry.number, records: records, catalog: catalog, newID: newID,
                replacement: replacement, home: home)
        case .rejected(let kept, let rejection):
            self.space = kept.space
            try `repeat`(
                kept, rejection, records: entry.records, catalog: catalog, newID: newID, replacement: replacement,
                home: home)
        case .cancelled(let kept):
            self.space = kept.space
            try `repeat`(
                kept, nil, records: entry.records, catalog: catalog, newID: newID, replacement: replacement, home: home)
        case .forgotten(let kept):
            self.space = kept.space
            try bringBack(kept, catalog: catalog, home: home)
        }
    }

    // MARK: Rejected and cancelled transactions

    private mutating func `repeat`(
        _ kept: Transaction, _ rejection: Rejection?, records: Transaction?, catalog: SchemaCatalog,
        newID: () -> RecordID, replacement: (RecordAddress) throws -> RecordID?,
        home: (RecordAddress) throws -> SpaceID?
    ) throws {
        // Find the new ids first, because a reference may come before the record that it names.
        var successors: [RecordID: RecordID] = [:]
        for (position, mutation) in kept.mutations.enumerated() {
            let (id, collection) = (mutation.record, mutation.collection)
            guard try home(RecordAddress(collection, id)) == nil else { continue }
            if let known = try replacement(RecordAddress(collection, id)),
                try home(RecordAddress(collection, known)) == space
            {
                successors[id] = known
                continue
            }
            let isDeleted =
                switch mutation.intent {
                // Other creates keep their ids, because other entries refer to them.
                case .create: rejection?.code == .recordDeleted && rejection?.mutation ?? position == position
                case .update: records?.creates(id) ?? false
                case .delete: false
                }
            if isDeleted { successors[id] = replace(id, in: collection, newID) }
        }
        var edits: [RecordEdit] = []
        for mutation in kept.mutations {
            let (id, collection) = (successors[mutation.record] ?? mutation.record, mutation.collection)
            let isHere = try home(RecordAddress(collection, id)) == space
            let isRemade = replacements.contains { $0.replacement == id }
            let whole = isRemade ? records?.mutations.first { $0.record == mutation.record }?.patch : nil
            let patch = try following(
                successors, whole ?? mutation.patch, of: collection, droppingLost: whole != nil, catalog: catalog,
                replacement: replacement, home: home)
            switch mutation.intent {
            case .create where isHere: edits.append(.update(collection, id, patch))
            case .create: edits.append(.create(collection, id, patch))
            case .update where isRemade: edits.append(.create(collection, id, patch))
            case .update: edits.append(.update(collection, id, patch))
            case .delete: if isHere { edits.append(.delete(collection, id)) }
            }
        }
        transactions = [
            try remakingTargets(
                of: edits, from: records?.mutations ?? [], catalog: catalog, newID: newID, replacement: replacement,
                home: home)
        ]
    }

    // MARK: References

    /// Returns the edits with creates of the deleted records that they refer to, under new ids.
    ///
    /// - Parameter records: creates of deleted records. References to any other record stay as they are.
    private mutating func remakingTargets(
        of edits: [RecordEdit], from records: [Mutation], catalog: SchemaCatalog, newID: () -> RecordID,
        replacement: (RecordAddress) throws -> RecordID?,
        home: (RecordAddress) throws -> SpaceID?
    ) throws -> [RecordEdit] {
        let written = Set(edits.map(\.record))
        var successors: [RecordID: RecordID] = [:]
        var all = edits
        var position = 0
        while position < all.count {
            let edit = all[position]
            position += 1
            for (name, value) in edit.patch {
                guard case .reference(let id) = value, successors[id] == nil, !written.contains(id),
                    let target = catalog[edit.collection]?.field(named: name)?.target,
                    try home(RecordAddress(target, id)) == nil,
                    let create = records.first(where: { $0.record == id && $0.collection == target })
                else { continue }
                let new = replace(id, in: target, newID)
                successors[id] = new
                let patch = try following(
                    successors, create.patch, of: target, droppingLost: true, catalog: catalog,
                    replacement: replacement, home: home)
                all.append(.create(target, new, patch))
            }
        }
        guard !successors.isEmpty else { return edits }
        return try all.map { edit in
            let patch = try following(
                successors, edit.patch, of: edit.collection, droppingLost: false, catalog: catalog,
                replacement: replacement, home: home)
            return switch edit {
            case .create(let collection, let id, _): .create(collection, id, patch)
            case .update(let collection, let id, _): .update(collection, id, patch)
            case .delete: edit
            }
        }
    }

    /// Returns the patch with its references redirected to the records that replaced deleted ones.
    ///
    /// - Parameter droppingLost: Whether to leave out optional references to records that no longer exist.
    private func following(
        _ successors: [RecordID: RecordID], _ patch: Patch, of collection: CollectionName, droppingLost: Bool,
        catalog: SchemaCatalog, replacement: (RecordAddress) throws -> RecordID?,
        home: (RecordAddress) throws -> SpaceID?
    ) throws -> Patch {
        var result = patch
        for (name, value) in patch {
            guard case .reference(let id) = value, let field = catalog[collection]?.field(named: name),
                let target = field.target, try home(RecordAddress(target, id)) == nil
            else { continue }
            if let successor = successors[id] {
                result.set(name, to: .reference(successor))
            } else if let known = try replacement(RecordAddress(target, id)),
                try home(RecordAddress(target, known)) != nil
            {
                result.set(name, to: .reference(known))
            } else if droppingLost, !field.isRequired {
                result.remove(name)
            }
        }
        return result
    }

    private mutating func replace(
        _ id: RecordID, in collection: CollectionName, _ newID: () -> RecordID
    ) -> RecordID {
        let replacement = newID()
        replacements.append(Replacement(collection: collection, deleted: id, replacement: replacement))
        return replacement
    }

    // MARK: Losing values

    /// Writes the losing values over the current records, and creates deleted records again under new ids.
    ///
    /// - Parameters:
    ///   - number: The number of the entry.
    ///   - records: Creates of deleted records.
    private mutating func restore(
        _ conflicts: [FieldConflict], of number: Int64, records: [Mutation], catalog: SchemaCatalog,
        newID: () -> RecordID, replacement: (RecordAddress) throws -> RecordID?,
        home: (RecordAddress) throws -> SpaceID?
    ) throws {
        var edits: [RecordEdit] = []
        var order: [RecordID] = []
        var patches: [RecordID: (collection: CollectionName, patch: Patch)] = [:]
        for conflict in conflicts {
            if patches[conflict.record] == nil { order.append(conflict.record) }
            patches[conflict.record, default: (conflict.collection, Patch())].patch.set(
                conflict.field, to: conflict.loser.value)
        }
        for id in order {
            guard let (collection, values) = patches[id] else { continue }
            let lost = try following(
                [:], values, of: collection, droppingLost: false, catalog: catalog, replacement: replacement, home: home
            )
            if try home(RecordAddress(collection, id)) == space {
                edits.append(.update(collection, id, lost))
                continue
            }
            if let known = try replacement(RecordAddress(collection, id)),
                try home(RecordAddress(collection, known)) == space
            {
                edits.append(.update(collection, known, lost))
                continue
            }
            let whole = records.first { $0.record == id && $0.collection == collection }?.patch ?? Patch()
            var patch = try following(
                [:], whole, of: collection, droppingLost: true, catalog: catalog, replacement: replacement, home: home)
            for (field, value) in lost { patch.set(field, to: value) }
            let missing = catalog[collection]?.fields.filter { $0.isRequired && patch[$0.name] == nil } ?? []
            guard missing.isEmpty else {
                throw StoreError(
                    .missingRecord,
                    "\(collection) \(id) is not on this device, and entry \(number) lacks its \(missing.map(\.name.rawValue).joined(separator: ", ")): create a new record with the values of the entry"
                )
            }
            edits.append(.create(collection, replace(id, in: collection, newID), patch))
        }
        transactions = [
            try remakingTargets(
                of: edits, from: records, catalog: catalog, newID: newID, replacement: replacement, home: home)
        ]
    }

    // MARK: Forgotten changes

    private mutating func bringBack(
        _ forgotten: Transaction, catalog: SchemaCatalog,
        home: (RecordAddress) throws -> SpaceID?
    ) throws {
        // A part never refers to a later one, so every referenced record is here, already planned, or missing.
        var planned: Set<RecordID> = []
        for part in forgotten.referenceGroups {
            let creations = part.filter { if case .create = $0.intent { true } else { false } }
            planned.formUnion(creations.map(\.record))
            var edits: [RecordEdit] = []
            var lacksRecord = false
            for mutation in part {
                var patch = mutation.patch
                for (name, value) in mutation.patch {
                    guard case .reference(let id) = value, !planned.contains(id),
                        let field = catalog[mutation.collection]?.field(named: name), let target = field.target,
                        try home(RecordAddress(target, id)) != space
                    else { continue }
                    // A missing record in an optional reference does not hold up the rest.
                    if field.isRequired { lacksRecord = true }
                    patch.remove(name)
                }
                let (id, collection) = (mutation.record, mutation.collection)
                switch (mutation.intent, try home(RecordAddress(collection, id))) {
                case (.delete, _): break
                case (_, let present?) where present != space: lacksRecord = true
                case (.create, nil): edits.append(.create(collection, id, patch))
                // The record was deleted after this edit.
                case (.update, nil) where !planned.contains(id): break
                case (.create, _), (.update, _): edits.append(.update(collection, id, patch))
                }
            }
            if lacksRecord {
                left += part
                planned.subtract(creations.map(\.record))
            } else {
                transactions.append(edits)
            }
        }
        guard left.count < forgotten.mutations.count else {
            throw StoreError(
                .danglingReference,
                "the entry refers to records that are not on this device, or its ids are in use in another space: restore the entries with those records first"
            )
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

extension Transaction {
    fileprivate func creates(_ id: RecordID) -> Bool { mutations.contains { $0.record == id } }
}
