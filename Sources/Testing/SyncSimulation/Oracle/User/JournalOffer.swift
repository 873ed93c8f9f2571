import SyncCore
import SyncModel

/// The values that journal entries offer to the user.
struct JournalOffer {
    private(set) var values: Set<UserOracle.Saved> = []
    /// The records whose deletion was rejected or cancelled, or is pending.
    private(set) var deletes: Set<RecordAddress> = []
    /// The values that edits of the entries say they replace.
    private(set) var replaced: Set<UserOracle.Saved> = []
    /// Whether an entry says that the server has removed notices. Its user knows that values may be missing.
    private(set) var saysThatNoticesAreMissing = false

    init(_ entries: [JournalEntry]) {
        for entry in entries {
            switch entry.event {
            case .rejected(let transaction, _), .cancelled(let transaction), .lost(let transaction):
                add(transaction)
            case .merged(let conflicts): add(conflicts)
            case .overwritten(let conflicts, let deleted):
                add(conflicts)
                if let deleted { add(deleted) }
            case .noticesRemoved: saysThatNoticesAreMissing = true
            }
        }
    }

    /// Creates an offer from the values of pending transactions, which the user can still see in the outbox.
    init(waiting transactions: [Transaction]) {
        for transaction in transactions { add(transaction) }
    }

    /// The records that the offer mentions.
    var addresses: Set<RecordAddress> { deletes.union(values.map(\.field.address)) }

    /// Returns whether an edit of the entries says that it replaces the value.
    ///
    /// An entry does not name a record that has replaced a deleted one. An edit of the deleted record then replaces the
    /// same value in the other record.
    func saysThatItReplaces(_ saved: UserOracle.Saved) -> Bool {
        if replaced.contains(saved) { return true }
        guard !addresses.contains(saved.field.address) else { return false }
        return replaced.contains { edited in
            edited.value == saved.value && edited.field.field == saved.field.field
                && edited.field.collection == saved.field.collection
        }
    }

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
