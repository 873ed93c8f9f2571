/// Limits of a source without a store.
enum RemoteLimits {
    /// Maximum number of records that a query reads. All of them are held in memory.
    static let scanRecords = 10_000
    /// Maximum number of records in one page of a query.
    static let pageRecords = 500
    /// Number of pages of a query after which it fails, so that it ends even if the server's pages do not.
    static let scanPages = 1_000
    /// Maximum number of records kept because a write without a response has created them. Beyond it, the
    /// source forgets the earlier ones, and the server rejects a second creation of them. Must exceed the number of
    /// records in one transaction.
    static let createdRecords = 10_000
}
