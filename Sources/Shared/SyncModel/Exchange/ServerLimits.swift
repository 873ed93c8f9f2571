/// The limits of a server's requests and responses.
public struct ServerLimits: Hashable, Sendable {
    /// Maximum total size of the values in one push, in bytes (`Transaction.byteCount`). Their JSON form is longer.
    public let pushBytes: Int
    /// Maximum number of transactions in one push.
    public let pushTransactions: Int
    /// Maximum number of rows or changes in one page.
    public let pageRows: Int

    /// Creates limits. Each must be at least 1.
    public init(pushBytes: Int, pushTransactions: Int, pageRows: Int) {
        self.pushBytes = pushBytes
        self.pushTransactions = pushTransactions
        self.pageRows = pageRows
    }
}
