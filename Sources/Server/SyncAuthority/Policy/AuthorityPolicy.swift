public import SyncModel

/// The configuration of an authority: its limits and its access rules.
public struct AuthorityPolicy: Hashable, Sendable {
    /// The limits that `hello` reports.
    public var limits: ServerLimits
    /// The time that a stamp may be ahead of the server's clock before it is clamped (I22).
    public var permittedSkew: Duration
    /// Soft limit on the stored bytes of a page, and of the conflicts in a push response. The row, commit, or
    /// transaction that reaches the limit is still included, as the last one. Also the limit on the values in the
    /// notices of a page, which only a single notice may exceed.
    public var pageBytes: Int
    /// Maximum number of transactions, of one push or of several, that are made durable together.
    public var transactionsPerWrite: Int
    /// The limits on what one account stores.
    public var accounts: AccountLimits
    /// The rights of principals. By default, everyone reads and writes in the space `default`.
    public var access: AccessRules

    /// Creates a policy. Traps when a limit is not positive, because policies are written by programmers or validated
    /// earlier.
    public init(
        limits: ServerLimits = ServerLimits(
            pushBytes: AuthorityLimits.pushBytes, pushTransactions: AuthorityLimits.pushTransactions,
            pageRows: AuthorityLimits.pageRows),
        permittedSkew: Duration = SchemaLimits.permittedSkew, pageBytes: Int = AuthorityLimits.pageBytes,
        transactionsPerWrite: Int = AuthorityLimits.transactionsPerWrite, accounts: AccountLimits = .unlimited,
        access: AccessRules = .everyoneInDefaultSpace
    ) {
        precondition(limits.pushBytes > 0 && limits.pushTransactions > 0 && limits.pageRows > 0, "\(limits)")
        precondition(pageBytes > 0 && transactionsPerWrite > 0, "\(pageBytes), \(transactionsPerWrite)")
        self.limits = limits
        self.permittedSkew = permittedSkew
        self.pageBytes = pageBytes
        self.transactionsPerWrite = transactionsPerWrite
        self.accounts = accounts
        self.access = access
    }
}
