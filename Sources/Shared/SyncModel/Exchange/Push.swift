/// Transactions on their way to the server, in the order of their numbers.
public struct PushRequest: Hashable, Sendable {
    public let identity: ClientIdentity
    /// The history that the client believes it talks to; nil before the first contact.
    public let epoch: Epoch?
    /// The account that the transactions were written under; nil for whoever the token is of.
    public let account: AccountID?
    /// The newest cursor or receipt of each space that the client knows, at most `SchemaLimits.shownCursors`: the server
    /// recognizes by them that it was restored from an older copy.
    public let cursors: [Cursor]
    /// The client has all outcomes below this number: the server may forget them.
    public let acknowledged: TransactionNumber
    public let transactions: [NumberedTransaction]

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

/// The outcome of one transaction.
public struct TransactionResult: Hashable, Sendable {
    public let number: TransactionNumber
    public let outcome: Outcome
    /// Proof of the commit. The server gives it with the last transaction of each space that took effect.
    public let receipt: CommitReceipt?

    public init(number: TransactionNumber, outcome: Outcome, receipt: CommitReceipt? = nil) {
        self.number = number
        self.outcome = outcome
        self.receipt = receipt
    }
}

/// The server's answer to a push.
public enum PushReply: Hashable, Sendable {
    /// The outcomes of a prefix of the request. A transaction without one has not been answered.
    case answered([TransactionResult], epoch: Epoch, serverTime: HybridTime)
    case refused(PushRefusal)
}

/// Why a server took nothing of a push.
public enum PushRefusal: Hashable, Sendable {
    /// The numbers do not continue where the server stands.
    case gap(expected: TransactionNumber)
    /// The server has seen this number with other contents: this database is a copy, or was rolled back.
    case identityConflict(number: TransactionNumber)
    /// The server's history is another one than the client believes.
    case epochChanged(Epoch)
}
