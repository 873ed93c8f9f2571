/// The result of applying a page.
public enum ApplyResult: Hashable, Sendable {
    /// The stored state of the space after the call, the counts of the outbox, and the number of records that changed.
    case applied(StoredSpace, outbox: OutboxSummary, changedRecords: Int)
    /// The page would delete more than the brake permits. Nothing was applied.
    case braked(deletes: Int, of: Int)
}
