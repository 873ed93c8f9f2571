package import SyncModel

extension OutboxMachine {
    /// The part of a push that is needed to handle its response.
    package struct PushInFlight: Hashable, Sendable {
        package let identity: ClientIdentity
        package let count: Int
        package let first: TransactionNumber?
        /// The spaces of the transactions, sorted by name.
        package let spaces: [SpaceID]
        /// Whether the push sends an empty transaction: in place of a withdrawn one, or to ask for the outcome under
        /// former numbers.
        package let isEmptied: Bool

        package init(
            identity: ClientIdentity, count: Int, first: TransactionNumber?, spaces: [SpaceID],
            isEmptied: Bool = false
        ) {
            self.isEmptied = isEmptied
            self.identity = identity
            self.count = count
            self.first = first
            self.spaces = spaces
        }

        init(of batch: PushBatch) {
            self.init(
                identity: batch.identity, count: batch.transactions.count, first: batch.transactions.first?.number,
                spaces: Set(batch.transactions.map(\.transaction.space)).sorted(), isEmptied: batch.isEmptied)
        }

        /// Returns the reason why the receipt of a result does not match its outcome, or nil when it does.
        private static func fault(of result: TransactionResult) -> TransportError? {
            guard let receipt = result.receipt else { return nil }
            guard case .applied(let version, _, _) = result.outcome else {
                return TransportError(
                    .notUnderstood, "the server rejected transaction \(result.number), but sent a receipt for it")
            }
            guard receipt.version != version else { return nil }
            return TransportError(
                .notUnderstood,
                "the server's receipt for transaction \(result.number) has version \(receipt.version); expected \(version), as in its outcome"
            )
        }

        /// Returns the reason why the results do not answer this push, or nil when they do.
        ///
        /// The results must be those of the first transactions of the push, in order and without gaps. Each receipt
        /// must have the version that its outcome names.
        func fault(of results: [TransactionResult]) -> TransportError? {
            guard !results.isEmpty else {
                return TransportError(.notUnderstood, "the response has no outcome for the \(count) transactions sent")
            }
            var expected = first
            for (index, result) in results.enumerated() {
                guard index < count, result.number == expected else {
                    return TransportError(
                        .notUnderstood,
                        "the response has transaction \(result.number); expected \(index < count ? expected.map(\.description) ?? "none" : "no more")"
                    )
                }
                if let failure = Self.fault(of: result) { return failure }
                expected = result.number.next
            }
            return nil
        }
    }
}
