public import SyncCore
public import SyncModel

// Decisions about journal entries that nobody has decided about.
extension SQLiteStore {
    public func retry(
        journal number: Int64, now: WallTime, newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] {
        try write { transaction in
            try transaction.requireActive(journal: number)
            return try transaction.restore(journal: number, leaving: [], now: now, newID: newID)
        }
    }

    public func commit(
        _ edits: [RecordEdit], seen: SeenFields, correcting correction: JournalCorrection, in space: SpaceID,
        now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try write { transaction in
            let entry = try transaction.requireActive(journal: correction.entry)
            // No check whether the journal is full, because dismissing the entry makes room.
            let sequence = edits.isEmpty ? nil : try transaction.writeEdits(edits, seen: seen, in: space, now: now)
            for edit in edits {
                guard case .create(let collection, let id, _) = edit,
                    let creation = correction.creations.first(where: {
                        $0.id == id && $0.record.collection == collection
                    })
                else { continue }
                try Replacements.add(id, for: creation.record, transaction.connection)
            }
            try transaction.setState(.dismissed, of: entry)
            return sequence
        }
    }
}

extension WriteTransaction {
    /// Returns an entry that nobody has decided about.
    ///
    /// - Throws: `missingEntry`, or `entryIsFrozen` when somebody has decided about the entry.
    @discardableResult
    fileprivate func requireActive(journal number: Int64) throws -> JournalEntry {
        let entry = try journalEntry(number)
        guard entry.state == .active else {
            throw StoreError(
                .entryIsFrozen,
                "entry \(number) of the journal has already been \(entry.state.rawValue), so nothing was written: read the journal again, and write a new edit to change the current values"
            )
        }
        return entry
    }
}
