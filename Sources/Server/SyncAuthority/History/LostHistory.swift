public import SyncModel

/// Proof that the database holds less than, or other than, what this server has confirmed: it was restored from an older
/// copy.
public struct LostHistory: Hashable, Sendable {
    /// The history that has ended.
    public let epoch: Epoch
    public let space: SpaceID
    /// The version that the server had reached in this space.
    public let reached: Version
    /// The newest version that the database holds.
    public let head: Version
    public let witness: Witness

    public enum Witness: Hashable, Sendable {
        /// A client of this principal showed a cursor that this server had given it.
        case client(Principal)
        /// The mark beside the database shows a version that this server had served.
        case mark
    }

    public init(epoch: Epoch, space: SpaceID, reached: Version, head: Version, witness: Witness) {
        self.epoch = epoch
        self.space = space
        self.reached = reached
        self.head = head
        self.witness = witness
    }
}

extension LostHistory: CustomStringConvertible {
    /// The evidence, in one sentence for an operator.
    public var description: String {
        let found =
            reached > head
            ? "the database ends at version \(head)" : "the database holds another commit at that version"
        let source =
            switch witness {
            case .client(let principal): "a device of '\(principal.name)'"
            case .mark: "the mark beside the database"
            }
        return "this server had reached version \(reached) of space \(space), as \(source) shows, but \(found)"
    }
}

/// Names new histories, and hears of lost ones.
///
/// Safe to call from any thread.
public protocol HistoryKeeper: Sendable {
    /// Draws a history that no server has had before. The authority may ask for one and not use it.
    func nextHistory() -> HistoryIdentity

    /// Tells the operator that a history was lost, and that another one has begun. Called once for each, after it is durable.
    func historyWasLost(_ lost: LostHistory, next: Epoch)
}
