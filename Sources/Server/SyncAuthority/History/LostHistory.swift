public import SyncModel

/// Proof that the database does not hold every commit that this server has confirmed, because it was restored from an
/// older copy.
public struct LostHistory: Hashable, Sendable {
    /// The epoch that has ended.
    public let epoch: Epoch
    /// The space in which the loss was found. Other spaces may have lost commits, too.
    public let space: SpaceID
    /// The version that the server had reached in this space.
    public let reached: Version
    /// The newest version that the database holds.
    public let head: Version
    /// The transaction that the database lacks, if a receipt for it is the proof; nil if a commit is.
    public let transaction: TransactionNumber?
    /// The client that has pushed this transaction. Another device may have shown the receipt.
    public let client: ClientID?
    /// The source from which the server learned of the loss.
    public let witness: Witness

    /// The origins of the proof.
    public enum Witness: Hashable, Sendable {
        /// A cursor or a receipt of this server, sent by a client of this principal.
        case client(Principal)
        /// The mark beside the database.
        case mark
    }

    /// Creates the proof that commits up to `reached` were lost.
    public init(
        epoch: Epoch, space: SpaceID, reached: Version, head: Version, transaction: TransactionNumber? = nil,
        of client: ClientID? = nil, witness: Witness
    ) {
        self.epoch = epoch
        self.space = space
        self.reached = reached
        self.head = head
        self.transaction = transaction
        self.client = client
        self.witness = witness
    }
}

extension LostHistory: CustomStringConvertible {
    /// The evidence, as one sentence for an operator.
    public var description: String {
        let found =
            if let transaction, let client {
                "the database does not hold transaction \(transaction) of client \(client), which this server had confirmed"
            } else if reached > head {
                "the database ends at version \(head)"
            } else {
                "the database holds another commit at that version"
            }
        let source =
            switch witness {
            case .client(let principal): "a device of '\(principal.name)'"
            case .mark: "the mark beside the database"
            }
        return "this server had reached version \(reached) of space \(space), as \(source) shows, but \(found)"
    }
}

/// A source of new histories that is notified of lost ones.
///
/// Its methods must be safe to call from any thread.
public protocol HistoryKeeper: Sendable {
    /// Returns a history that no server has had before. The authority may request one and not use it.
    func nextHistory() -> HistoryIdentity

    /// Notifies the operator that a history was lost and that another one has begun. Called once for each loss, after
    /// the new history is durable.
    func historyWasLost(_ lost: LostHistory, next: Epoch)
}
