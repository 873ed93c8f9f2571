public import SyncModel

/// How an authority behaves: what it takes, what it gives, and to whom.
public struct AuthorityPolicy: Hashable, Sendable {
    /// The limits that `hello` tells.
    public var limits: ServerLimits
    /// How far after the server's own time a stamp may lie before it is clamped (I22).
    public var permittedSkew: Duration
    /// The stored bytes after which a page is not filled further, nor an answer to a push with what its transactions met.
    public var pageBytes: Int
    /// Transactions of one push that are made durable together.
    public var transactionsPerWrite: Int
    public var access: AccessRules

    /// Traps when a limit is not positive: a policy is written by a programmer, or checked before it gets here.
    public init(
        limits: ServerLimits = ServerLimits(
            pushBytes: AuthorityLimits.pushBytes, pushTransactions: AuthorityLimits.pushTransactions,
            pageRows: AuthorityLimits.pageRows),
        permittedSkew: Duration = SchemaLimits.permittedSkew, pageBytes: Int = AuthorityLimits.pageBytes,
        transactionsPerWrite: Int = AuthorityLimits.transactionsPerWrite, access: AccessRules = .everyoneInDefaultSpace
    ) {
        precondition(limits.pushBytes > 0 && limits.pushTransactions > 0 && limits.pageRows > 0, "\(limits)")
        precondition(pageBytes > 0 && transactionsPerWrite > 0, "\(pageBytes), \(transactionsPerWrite)")
        self.limits = limits
        self.permittedSkew = permittedSkew
        self.pageBytes = pageBytes
        self.transactionsPerWrite = transactionsPerWrite
        self.access = access
    }
}
