extension BatchLimit {
    /// Returns the limit grown by a quarter, or nil once it reaches `limit`. Restoring the full limit at once would
    /// make the next batch as slow as before.
    func grown(within limit: BatchLimit) -> BatchLimit? {
        let next = transactions.grown
        return next < limit.transactions ? BatchLimit(transactions: next, bytes: bytes) : nil
    }
}

extension Int {
    /// The number increased by a quarter.
    var grown: Int { self + Swift.max(1, self / 4) }
}
