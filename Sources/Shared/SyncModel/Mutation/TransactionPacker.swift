/// Packs mutations, in order, into as few transactions as the limits allow.
package struct TransactionPacker: Sendable {
    package let space: SpaceID
    private var mutations: [Mutation] = []
    private var bytes = 0

    package init(space: SpaceID) {
        self.space = space
    }

    /// Adds a group of mutations that must stay together.
    ///
    /// - Parameter group: the mutations. They stay together even if they exceed the limits of one transaction.
    /// - Returns: the previous transaction, if the group does not fit into it; otherwise nil.
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

    /// Returns the transaction packed so far, and starts a new one; nil when it is empty.
    package mutating func take() -> Transaction? {
        guard !mutations.isEmpty else { return nil }
        defer {
            mutations = []
            bytes = 0
        }
        return Transaction(space: space, mutations: mutations)
    }
}
