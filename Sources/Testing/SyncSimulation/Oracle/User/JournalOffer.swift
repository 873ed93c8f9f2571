import SyncCore
import SyncModel

/// The values that journal entries offer to the user.
struct JournalOffer {
    private(set) var values: Set<UserOracle.Saved> = []
    /// The records whose deletion was rejected or cancelled.
    private(set) var deletes: Set<NaiveModel.Place> = []

    init(_ entries: [JournalEntry]) {
        for entry in entries {
            switch entry.event {
            case .rejected(let transaction, _), .cancelled(let transaction), .forgotten(let transaction):
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
    var places: Set<NaiveModel.Place> { deletes.union(values.map(\.spot.place)) }

    private mutating func add(_ transaction: Transaction) {
        for mutation in transaction.mutations {
            let place = NaiveModel.Place(collection: mutation.collection, id: mutation.record)
            if case .delete = mutation.intent { deletes.insert(place) }
            for (field, value) in mutation.patch {
                values.insert(UserOracle.Saved(spot: UserOracle.Spot(place, field), value: value))
            }
        }
    }

    private mutating func add(_ conflicts: [FieldConflict]) {
        for conflict in conflicts {
            let place = NaiveModel.Place(collection: conflict.collection, id: conflict.record)
            values.insert(
                UserOracle.Saved(spot: UserOracle.Spot(place, conflict.field), value: conflict.loser.value))
        }
    }
}
