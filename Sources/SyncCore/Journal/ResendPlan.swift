package import SyncModel

/// What is written when a person sends an entry of the journal again: edits over what the records are now.
package struct ResendPlan: Hashable, Sendable {
    package let space: SpaceID
    /// The edits of each transaction, in the order in which they are to be written.
    package private(set) var transactions: [[RecordEdit]] = []
    /// What needs a record that is not here, or whose id another space has: it stays in the journal, in an entry of its own.
    package private(set) var left: [Mutation] = []

    /// - Parameters:
    ///   - entry: what was rejected or cancelled is repeated as one transaction, as it was written. What was forgotten comes
    ///     back in the smallest parts that can stand alone: nobody wrote these together, and what the server refuses of them
    ///     must not take the others with it.
    ///   - home: the space in which a record is now; nil when it is not here.
    ///   - newID: makes the id of a record that takes the place of a deleted one.
    /// - Throws: `StoreFailure` with the code `entryIsFrozen` when it has been sent again already;
    ///   `danglingReference` when all of it needs records that are not here; and what `home` throws.
    package init(
        of entry: JournalEntry, in space: SpaceID, catalog: SchemaCatalog, newID: () -> RecordID,
        home: (CollectionName, RecordID) throws(StoreFailure) -> SpaceID?
    ) throws(StoreFailure) {
        guard entry.state != .resent else {
            throw StoreFailure(.entryIsFrozen, "journal entry \(entry.number) has been sent again already")
        }
        switch entry.event {
        case .merged(let conflicts), .overwritten(let conflicts, _):
            self.space = space
            var remade: Transaction?
            if case .overwritten(_, let deleted) = entry.event { remade = deleted }
            try restore(conflicts, deleted: remade, newID: newID, home: home)
        case .rejected(let kept, _), .cancelled(let kept):
            var edits: [RecordEdit] = []
            for mutation in kept.mutations {
                let isHere = try home(mutation.collection, mutation.record) == kept.space
                if let edit = Self.edit(repeating: mutation, isHere: isHere) { edits.append(edit) }
            }
            self.space = kept.space
            transactions = [edits]
        case .forgotten(let kept):
            self.space = kept.space
            try bringBack(kept, catalog: catalog, home: home)
        }
    }

    /// The edit that says the same again; nil for the deletion of a record that is not in its space.
    private static func edit(repeating mutation: Mutation, isHere: Bool) -> RecordEdit? {
        switch mutation.intent {
        case .create(let patch):
            return isHere
                ? .update(mutation.collection, mutation.record, patch)
                : .create(mutation.collection, mutation.record, patch)
        case .update: return .update(mutation.collection, mutation.record, mutation.patch)
        case .delete: return isHere ? .delete(mutation.collection, mutation.record) : nil
        }
    }

    // MARK: Values that gave way

    /// Writes the losing values over what the records are now, and makes records that are gone again under new ids.
    private mutating func restore(
        _ conflicts: [FieldConflict], deleted: Transaction?, newID: () -> RecordID,
        home: (CollectionName, RecordID) throws(StoreFailure) -> SpaceID?
    ) throws(StoreFailure) {
        var edits: [RecordEdit] = []
        var order: [RecordID] = []
        var patches: [RecordID: (collection: CollectionName, patch: Patch)] = [:]
        for conflict in conflicts {
            if patches[conflict.record] == nil { order.append(conflict.record) }
            patches[conflict.record, default: (conflict.collection, Patch())].patch.set(
                conflict.field, to: conflict.loser.value)
        }
        for id in order {
            guard let (collection, lost) = patches[id] else { continue }
            if try home(collection, id) == space {
                edits.append(.update(collection, id, lost))
                continue
            }
            var whole = deleted?.mutations.first { $0.record == id && $0.collection == collection }?.patch ?? Patch()
            for (field, value) in lost { whole.set(field, to: value) }
            edits.append(.create(collection, newID(), whole))
        }
        transactions = [edits]
    }

    // MARK: What was forgotten

    private mutating func bringBack(
        _ forgotten: Transaction, catalog: SchemaCatalog,
        home: (CollectionName, RecordID) throws(StoreFailure) -> SpaceID?
    ) throws(StoreFailure) {
        // Parts refer to none that come later: what one refers to is here, or planned by now, or missing.
        var planned: Set<RecordID> = []
        for part in forgotten.groupsOfReferences {
            let creations = part.filter { if case .create = $0.intent { true } else { false } }
            planned.formUnion(creations.map(\.record))
            var edits: [RecordEdit] = []
            var lacksRecord = false
            for mutation in part {
                var patch = mutation.patch
                for (name, value) in mutation.patch {
                    guard case .reference(let id) = value, !planned.contains(id),
                        let field = catalog[mutation.collection]?.field(named: name), let target = field.target,
                        try home(target, id) != space
                    else { continue }
                    // A reference that may be missing does not hold up the rest.
                    if field.isRequired { lacksRecord = true }
                    patch.remove(name)
                }
                let (id, collection) = (mutation.record, mutation.collection)
                switch (mutation.intent, try home(collection, id)) {
                case (.delete, _): break
                case (_, let present?) where present != space: lacksRecord = true
                case (.create, nil): edits.append(.create(collection, id, patch))
                // An edit of what is gone: the deletion came later.
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
            throw StoreFailure(
                .danglingReference,
                "what was forgotten refers to records that are not here, which are to be brought back first, or its ids are in use in another space"
            )
        }
    }
}
