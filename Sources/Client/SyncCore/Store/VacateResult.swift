/// The result of vacating a space.
public enum VacateResult: Hashable, Sendable {
    /// The space has been vacated, or there was nothing to change.
    case vacated(VacatedSpace)
    /// Vacating would remove records that the current server has never shown. Nothing was changed.
    case braked(deletes: Int, of: Int)
}

/// The remains of a space to which the account has no access.
public struct VacatedSpace: Hashable, Sendable {
    /// The stored state of the space after the call.
    public let stored: StoredSpace
    /// The counts of the outbox, which keeps the unanswered writes in the space.
    public let outbox: OutboxSummary
    /// Number of removed records that the server had shown.
    public let removedRecords: Int

    /// Creates the result of a vacated space. `removedRecords` is 0 if nothing was left to remove.
    public init(stored: StoredSpace, outbox: OutboxSummary, removedRecords: Int) {
        self.stored = stored
        self.outbox = outbox
        self.removedRecords = removedRecords
    }
}
