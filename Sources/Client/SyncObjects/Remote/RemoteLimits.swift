/// Limits of live objects that come straight from the server.
enum RemoteLimits {
    /// Number of records that a query reads, all of which are held in memory.
    static let scanRecords = 10_000
    /// Number of records in one page of a query.
    static let pageRecords = 500
    /// Number of pages of a query, so that a server whose pages never end is given up.
    static let scanPages = 1_000
}
