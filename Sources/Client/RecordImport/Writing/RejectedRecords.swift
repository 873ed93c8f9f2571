import SyncCore
import SyncModel

/// The records that the server has rejected as deleted, as far as the journal shows.
///
/// The server rejects a transaction as a whole when one of its records was deleted, and names the first such record.
/// Dismissed entries count, too, because a deleted record never comes back: without them, each import of a list would send the
/// record again, and the server would reject it again, with everything else in its transaction.
struct RejectedRecords {
    /// Records that the server has named as deleted.
    private(set) var deleted: Set<RecordAddress> = []
    /// Records whose transaction was rejected because of a deleted record. Any of them may be deleted too.
    private(set) var perhapsDeleted: Set<RecordAddress> = []

    init(in store: any LocalStore) throws(StoreError) {
        var left = ImportLimits.journalEntries
        try store.forEachJournalEntry { entry in
            if entry.state != .restored { read(entry) }
            left -= 1
            return left > 0
        }
    }

    private mutating func read(_ entry: JournalEntry) {
        guard case .rejected(let transaction, let rejection) = entry.event, rejection.code == .recordDeleted else {
            return
        }
        for (index, mutation) in transaction.mutations.enumerated() {
            let address = mutation.address
            perhapsDeleted.insert(address)
            if index == rejection.mutation { deleted.insert(address) }
        }
    }
}
