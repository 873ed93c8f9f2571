public import SyncModel

/// The application's own rules for the writes of clients. The server evaluates them before it commits a transaction.
public protocol TransactionReview: Sendable {
    /// Returns the rejection of a transaction; nil to accept it.
    ///
    /// The server commits the transaction only if it still has the planned effects by then. Otherwise, it asks again.
    ///
    /// - Returns: the rejection. The server keeps the first 1 KiB of a code and the first 16 KiB of a message.
    /// - Throws: an error if the rules cannot be evaluated. The server then commits neither this transaction nor those
    ///   after it, and the client tries again later.
    func rejection(of planned: PlannedTransaction, by principal: Principal) async throws -> Rejection?

    /// Returns a time that never goes back. Its differences limit the time that one push may take.
    func uptime() -> Duration
}

/// The verdict of the application's rules on a transaction. It holds for one plan only.
public struct RuleVerdict: Hashable, Sendable {
    /// The transaction with the effects that were judged.
    public let planned: PlannedTransaction
    /// The rejection; nil when the rules accept the transaction.
    public let rejection: Rejection?

    /// Creates a verdict.
    public init(on planned: PlannedTransaction, rejection: Rejection?) {
        self.planned = planned
        self.rejection = rejection
    }
}
