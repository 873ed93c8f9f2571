import SyncCore
import SyncModel

/// The values that journal entries offer to the user.
struct JournalOffer {
    private(set) var values: Set<UserOracle.Saved> = []
    /// The records whose deletion was rejected or cancelled, or is pending.
    private(set) var deletes: Set<RecordAddress> = []
    /// The values that edits of the entries say they replace.
    private(set) var replaced: Set<UserOracle.Saved> = []

    init(_ entries: [JournalEntry]) {
        for entry in entries {
            switch entry.event {
            case .rejected(let transaction, _), .cancelled(let transaction), .lost(let transaction):
                add(transaction)
            case .merged(let conflicts): add(conflicts)
            case .overwritten(let conflicts, let deleted):
                add(conflicts)
                if let deleted { add(deleted) }
            }
        }
    }

    /// Creates an offer from the values of pending transactions, which the user can still see in the outbox.
    init(waiting transactions: [Transaction]) {
        for transaction in transactions { add(transaction) }
    }

    /// The records that the offer mentions.
    var addresses: Set<RecordAddress> { deletes.union(values.map(\.field.address)) }

    private mutating func add(_ transaction: Transaction) {
        for mutation in transaction.mutations {
            let address = mutation.address
            if case .delete = mutation.intent { deletes.insert(address) }
            if case .update(let edits) = mutation.intent {
                for edit in edits {
                    replaced.insert(
                        UserOracle.Saved(field: UserOracle.FieldAddress(address, edit.field), value: edit.before))
                }
            }
            for (field, value) in mutation.patch {
                values.insert(UserOracle.Saved(field: UserOracle.FieldAddress(address, field), value: value))
            }
        }
    }

    private mutating func add(_ conflicts: [FieldConflict]) {
        for conflict in conflicts {
            let address = RecordAddress(conflict.collection, conflict.record)
            values.insert(
                UserOracle.Saved(field: UserOracle.FieldAddress(address, conflict.field), value: conflict.loser.value))
        }
    }
}
