public import SyncModel

/// The limits of one push.
public struct BatchLimit: Hashable, Sendable {
    /// Maximum number of transactions in one push.
    public var transactions: Int
    /// Maximum total of `Transaction.byteCount` in one push. A larger transaction is sent alone.
    public var bytes: Int
    /// The server's collections and fields. Transactions that use others are held back; nil holds nothing back.
    public var models: ServerModels?

    /// Creates limits. Without `models`, no transaction is held back.
    public init(transactions: Int, bytes: Int, models: ServerModels? = nil) {
        self.transactions = transactions
        self.bytes = bytes
        self.models = models
    }
}

/// Transactions ready to be pushed.
public struct PushBatch: Hashable, Sendable {
    /// The identity to which the numbers belong.
    public let identity: ClientIdentity
    /// The server's history that the device follows; nil before the first contact.
    public let epoch: Epoch?
    /// The device knows all outcomes below this number.
    public let acknowledged: TransactionNumber
    /// The transactions, whose numbers follow each other without gaps.
    public let transactions: [NumberedTransaction]
    /// The counts of the outbox with this batch in it.
    public let outbox: OutboxSummary
    /// Whether the batch's only transaction is empty, in place of a withdrawn one, or to ask for the outcome under
    /// former numbers.
    public let isEmptied: Bool
    /// Cursors and receipts that prove the histories of spaces, for the server to compare.
    public let cursors: [Cursor]
    /// The size in bytes of a transaction that is alone in its batch; 0 for several, which can be split instead. A push
    /// of a large transaction has more time.
    package let loneBytes: Int

    /// Creates a batch as a store has frozen it. By default, it withdraws nothing and shows no cursors.
    public init(
        identity: ClientIdentity, epoch: Epoch?, acknowledged: TransactionNumber, transactions: [NumberedTransaction],
        outbox: OutboxSummary, isEmptied: Bool = false, cursors: [Cursor] = []
    ) {
        self.init(
            identity: identity, epoch: epoch, acknowledged: acknowledged, transactions: transactions, outbox: outbox,
            isEmptied: isEmptied, cursors: cursors,
            loneBytes: transactions.count == 1 ? transactions[0].transaction.byteCount : 0)
    }

    /// Creates a batch whose transactions may have been replaced since `loneBytes` was taken.
    package init(
        identity: ClientIdentity, epoch: Epoch?, acknowledged: TransactionNumber, transactions: [NumberedTransaction],
        outbox: OutboxSummary, isEmptied: Bool, cursors: [Cursor], loneBytes: Int
    ) {
        self.loneBytes = loneBytes
        self.cursors = cursors
        self.isEmptied = isEmptied
        self.identity = identity
        self.epoch = epoch
        self.acknowledged = acknowledged
        self.transactions = transactions
        self.outbox = outbox
    }
}
