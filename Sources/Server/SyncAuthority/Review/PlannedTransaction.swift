public import SyncModel

/// A transaction with the effects that it would have now, which the application's rules judge.
///
/// The authority computes the effects as it does when it commits, so they contain the decisions of the merge: an edit
/// that loses changes nothing.
public struct PlannedTransaction: Hashable, Sendable {
    /// The number under which the client pushes the transaction.
    public let number: TransactionNumber
    /// The transaction as the client sent it.
    public let transaction: Transaction
    /// The effects of its mutations, one for each, in their order.
    public let effects: [MutationEffect]

    /// Creates a transaction with the effects of all its mutations.
    public init(number: TransactionNumber, transaction: Transaction, effects: [MutationEffect]) {
        self.number = number
        self.transaction = transaction
        self.effects = effects
    }
}

/// The effect of one mutation on its record.
public struct MutationEffect: Hashable, Sendable {
    /// The record after the earlier mutations of the transaction; nil when there is none.
    public let before: RecordState?
    /// The record after the mutation, as it would be stored; nil after a deletion.
    public let after: RecordState?
    /// Whether the mutation is a create that has taken effect before. It changes nothing, so rules do not judge it
    /// again.
    public let isRepeat: Bool

    /// Creates an effect.
    public init(before: RecordState?, after: RecordState?, isRepeat: Bool = false) {
        self.before = before
        self.after = after
        self.isRepeat = isRepeat
    }
}

/// The values of a record at one point of a planned transaction.
public struct RecordState: Hashable, Sendable {
    /// The id of the record.
    public let id: RecordID
    /// The number that the server assigned; `.none` for a record that the transaction creates.
    public let uid: UID
    /// The version of the last commit before the transaction that changed the record; zero for a record that the
    /// transaction creates.
    public let version: Version
    /// The values by field. A field that is missing has no value.
    public let values: Patch

    /// Creates a state.
    public init(id: RecordID, uid: UID, version: Version, values: Patch) {
        self.id = id
        self.uid = uid
        self.version = version
        self.values = values
    }
}

/// The first transactions of a push, with what the application's rules must know to judge them.
public struct PushPlan: Hashable, Sendable {
    /// The number of transactions, from the first of the push, that can be decided now. The others change the records
    /// of earlier ones, or refer to them, so they are planned again after these have been decided.
    public let count: Int
    /// Those of them that the rules must judge, in order. The authority needs no rules to decide the others: they have
    /// an outcome already, or it rejects them itself.
    public let transactions: [PlannedTransaction]

    /// Creates a plan for the first `count` transactions of a push.
    public init(count: Int, transactions: [PlannedTransaction]) {
        self.count = count
        self.transactions = transactions
    }
}
