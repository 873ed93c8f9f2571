extension BatchLimit {
    /// Returns this limit with a quarter more transactions, or nil if they would reach the full `limit`.
    ///
    /// Grows in steps, because a full batch was too large or too slow before. The byte limit does not change.
    func increased(within limit: BatchLimit) -> BatchLimit? {
        var next = self
        next.transactions = transactions.increasedByQuarter
        return next.transactions < limit.transactions ? next : nil
    }
}

extension Int {
    /// The number increased by a quarter, but at least by 1.
    var increasedByQuarter: Int { self + Swift.max(1, self / 4) }
}
