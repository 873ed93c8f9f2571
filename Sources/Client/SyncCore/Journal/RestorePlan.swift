package import SyncModel

/// The edits that apply a journal entry again, over the current records.
package struct RestorePlan {
    package let space: SpaceID
    /// The edits of each transaction, in writing order.
    package internal(set) var transactions: [[RecordEdit]] = []
    /// For each transaction of a lost entry, the changes that it restores, which do not depend on the other
    /// transactions' success. Empty for other entries, which are restored whole.
    package internal(set) var parts: [[Mutation]] = []
    /// Mutations that are not restored: they require a record that is not on this device, their record is in another
    /// space, or the caller has left them out. They stay in the journal, in a new entry.
    package internal(set) var postponed: [Mutation] = []
    /// The new records that replace deleted records, which the entry changes or its changes refer to.
    package internal(set) var replacements: [Replacement] = []
    /// The optional references that the edits leave out, because their targets are not on this device.
    package internal(set) var droppedReferences: [DroppedReference] = []
    let records: Records
    /// The values that the entry has of deleted records.
    let deleted: [RecordAddress: Patch]
    /// The new ids of records that replace deleted ones, in this plan or an earlier one.
    var newIDs: [RecordAddress: RecordID] = [:]
    /// The records that the plan creates. A record in place of a deleted one has its new id.
    var created: Set<RecordAddress> = []
    /// The records that the plan deletes.
    var removed: Set<RecordAddress> = []

    /// A deleted record that is created again under a new id.
    package struct Replacement: Hashable, Sendable {
        package let collection: CollectionName
        package let deleted: RecordID
        package let replacement: RecordID
    }

    /// The records that the plan creates: those in place of deleted ones, and those under their own ids, whose
    /// `deleted` and `replacement` are equal.
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
        let restoredCreation: (RecordAddress) throws -> Patch?

        /// Creates the view of the records.
        ///
        /// - Parameters:
        ///   - newID: Makes the id of a record that replaces a deleted one.
        ///   - replacement: Returns the record that an earlier plan created in place of a deleted one, or nil when
        ///     there is none.
        ///   - space: Returns the space that a record is in now, or nil when it is not on this device.
        ///   - isOffered: Returns whether another active entry creates a record when that entry is restored, under the
        ///     record's own id or that of its replacement.
        ///   - restoredCreation: Returns the values with which a restored entry has created a record, or nil when no
        ///     entry has.
        package init(
            _ catalog: SchemaCatalog, newID: @escaping () -> RecordID,
            replacement: @escaping (RecordAddress) throws -> RecordID?,
            space: @escaping (RecordAddress) throws -> SpaceID?,
            isOffered: @escaping (RecordAddress) throws -> Bool,
            restoredCreation: @escaping (RecordAddress) throws -> Patch?
        ) {
            self.catalog = catalog
            self.newID = newID
            self.replacement = replacement
            self.space = space
            self.isOffered = isOffered
            self.restoredCreation = restoredCreation
        }
    }

    /// Plans how to restore an entry.
    ///
    /// A rejected or cancelled transaction is written again as one transaction. Records deleted since are created again
    /// under new ids, and references follow them. Optional references to records that nothing can create again are left
    /// out. Lost changes are restored in the smallest parts that can stand alone: the changes were not written
    /// together, and a part that the server rejects must not affect the others.
    ///
    /// - Parameters:
    ///   - left: Changes of a lost entry that are not restored, and are added to `postponed`.
    ///   - space: The space of an entry about conflicts. A transaction names its own space.
    /// - Throws: `StoreError` with the code `entryIsFrozen` when the entry has been restored already;
    ///   `danglingReference` when no part of the entry can be restored; `missingRecord` when too few values of a
    ///   deleted record are known to create it again; or an error that `records` throws.
    package init(
        of entry: JournalEntry, leaving left: Set<LostChange> = [], in space: SpaceID, _ records: Records
    ) throws {
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
        case .noticesRemoved:
            throw StoreError(
                .missingRecord,
                "journal entry \(entry.number) has no values: the server has removed the notices about them; dismiss the entry"
            )
        case .lost(let transaction):
            self.space = transaction.space
            let (restored, rest) = transaction.mutations.separating(left)
            try restoreLost(Transaction(space: space, mutations: restored))
            postponed += rest
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
    /// The values that the edit sets; empty for a delete.
    package var patch: Patch {
        switch self {
        case .create(_, _, let patch), .update(_, _, let patch): patch
        case .delete: Patch()
        }
    }
}
