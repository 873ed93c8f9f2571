/// A batch of transactions that a client sends to the server, in the order of their numbers.
public struct PushRequest: Hashable, Sendable {
    /// The identity to which the numbers belong.
    public let identity: ClientIdentity
    /// The epoch that the client expects; nil before the first contact with a server.
    public let epoch: Epoch?
    /// The account under which the transactions were written; nil means the account of the token.
    public let account: AccountID?
    /// Cursors and receipts of the client, at most `SchemaLimits.shownCursors` of them. They let the server detect that
    /// it was restored from an older copy.
    public let cursors: [Cursor]
    /// The client has received every outcome below this number, so the server may forget those outcomes.
    public let acknowledged: TransactionNumber
    /// The transactions, whose numbers follow each other without gaps.
    public let transactions: [NumberedTransaction]

    /// Creates a request without checking its size. The server's limits are in its `ServerLimits`.
    public init(
        identity: ClientIdentity, epoch: Epoch?, account: AccountID? = nil, cursors: [Cursor] = [],
        acknowledged: TransactionNumber, transactions: [NumberedTransaction]
    ) {
        self.identity = identity
        self.epoch = epoch
        self.account = account
        self.cursors = cursors
        self.acknowledged = acknowledged
        self.transactions = transactions
    }
}
