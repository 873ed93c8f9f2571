extension BatchLimit {
    /// Returns this limit with a quarter more transactions, or nil if they would reach the full `limit`.
    ///
    /// The number of bytes stays. Restoring the full limit at once would make the next batch as slow as before.
    func increased(within limit: BatchLimit) -> BatchLimit? {
        let next = transactions.increasedByQuarter
        return next < limit.transactions ? BatchLimit(transactions: next, bytes: bytes) : nil
    }
}

extension Int {
    /// The number increased by a quarter, but at least by 1.
    var increasedByQuarter: Int { self + Swift.max(1, self / 4) }
}
