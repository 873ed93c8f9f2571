/// The outcome of one transaction.
public struct TransactionResult: Hashable, Sendable {
    /// The number under which the transaction was pushed.
    public let number: TransactionNumber
    /// The final outcome. A repeated push gets the same one.
    public let outcome: Outcome
    /// Proof of the commit; nil when the server returns none. The server returns one for the last transaction that took
    /// effect in each space, and may return more.
    public let receipt: CommitReceipt?

    /// Creates the result of one transaction.
    public init(number: TransactionNumber, outcome: Outcome, receipt: CommitReceipt? = nil) {
        self.number = number
        self.outcome = outcome
        self.receipt = receipt
    }
}

/// The server's response to a push.
public enum PushResponse: Hashable, Sendable {
    /// The outcomes of the first transactions of the request. The others have not been processed, and the client sends
    /// them again.
    case answered([TransactionResult], epoch: Epoch, serverTime: HybridTime)
    /// The server has processed none of the transactions.
    case refused(PushRefusal)
}

/// The reason why a server accepted no part of a push.
public enum PushRefusal: Hashable, Sendable {
    /// The push skips numbers: it has a number beyond the next one that the server expects.
    case gap(expected: TransactionNumber)
    /// The server has seen this number with different contents, so this database is a copy, or was rolled back.
    case identityConflict(number: TransactionNumber)
    /// The server has a different history than the client expects.
    case epochChanged(Epoch)
}
