/// Puts mutations together into as few transactions as their limits allow, in order.
package struct TransactionPacker: Sendable {
    package let space: SpaceID
    private var mutations: [Mutation] = []
    private var bytes = 0

    package init(space: SpaceID) {
        self.space = space
    }

    /// - Parameter group: mutations that stay together, also when they are more than one transaction may have.
    /// - Returns: the transaction before, when the group does not fit into it any more.
    package mutating func add(_ group: [Mutation]) -> Transaction? {
        let size = group.reduce(0) { $0 + $1.byteCount }
        var full: Transaction?
        if mutations.count + group.count > SchemaLimits.mutationsPerTransaction
            || bytes + size > SchemaLimits.transactionBytes
        {
            full = take()
        }
        mutations += group
        bytes += size
        return full
    }

    /// - Returns: what has been collected and not yet been returned; nil when that is nothing.
    package mutating func take() -> Transaction? {
        guard !mutations.isEmpty else { return nil }
        defer {
            mutations = []
            bytes = 0
        }
        return Transaction(space: space, mutations: mutations)
    }
}
