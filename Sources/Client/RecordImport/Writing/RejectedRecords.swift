import SyncCore
import SyncModel

/// The records that the server has rejected because their ids are used up, as far as the journal shows.
///
/// The server rejects a transaction as a whole when one of its records was deleted or is in another space, and names
/// the first such record. Dismissed entries count, too, because such a record never becomes free: without them, each
/// import of a list would send the record again, and the server would reject it again, with everything else in its
/// transaction.
struct RejectedRecords {
    /// Records that the server has named as deleted.
    private(set) var deleted: Set<RecordAddress> = []
    /// Records that the server has named as records of another space, with the spaces that they are not in.
    private(set) var elsewhere: [RecordAddress: Set<SpaceID>] = [:]
    /// Records of transactions that were rejected because of such a record. The ids of any of them may be used up, too.
    private(set) var perhapsUsed: Set<RecordAddress> = []

    init(in store: any LocalStore) throws(StoreError) {
        var left = ImportLimits.journalEntries
        try store.forEachJournalEntry { entry in
            if entry.state != .restored { read(entry) }
            left -= 1
            return left > 0
        }
    }

    private mutating func read(_ entry: JournalEntry) {
        guard case .rejected(let transaction, let rejection) = entry.event,
            rejection.code == .recordDeleted || rejection.code == .duplicateRecord
        else { return }
        for (index, mutation) in transaction.mutations.enumerated() {
            let address = mutation.address
            perhapsUsed.insert(address)
            guard index == rejection.mutation else { continue }
            if rejection.code == .recordDeleted {
                deleted.insert(address)
            } else {
                elsewhere[address, default: []].insert(transaction.space)
            }
        }
    }
}
