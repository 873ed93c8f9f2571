public import SyncModel

/// The application's own rules for the writes of clients. The server evaluates them before it applies a push.
public protocol TransactionReview: Sendable {
    /// Returns the rejections of a push by transaction number.
    ///
    /// No two of the transactions change the same record (`PushRequest.reviewable`).
    ///
    /// A push may repeat transactions that already have an outcome. A rejection does not change that outcome.
    ///
    /// - Parameter records: reads the records as they are before this push.
    /// - Returns: the rejections. The server keeps the first 1 KiB of a code and the first 16 KiB of a message.
    /// - Throws: an error if the rules cannot be evaluated. The server then applies nothing of the push, and the client
    ///   tries again later.
    func rejections(
        of transactions: [NumberedTransaction], by principal: Principal, records: RecordReader
    ) async throws -> [TransactionNumber: Rejection]
}

extension TransactionReview {
    /// Returns the part of a push that the rules can judge now, and the rejections of its transactions.
    ///
    /// - Parameter records: reads the records as they are before this push.
    package func judge(
        _ push: PushRequest, by principal: Principal, records: RecordReader
    ) async throws -> (PushRequest, [TransactionNumber: Rejection]) {
        let push = push.reviewable
        return (push, try await rejections(of: push.transactions, by: principal, records: records))
    }
}

extension PushRequest {
    /// The first transactions of the push, of which no two change the same record. The server answers only these, and the
    /// client sends the rest again.
    ///
    /// Rules judge a transaction by the stored records. Nothing else tells what an earlier transaction of the same push
    /// leaves: the authority may reject it, recognize it as a repeat, or decide a merge against it. If rules trusted it,
    /// a client could hide a change behind a transaction that has no effect.
    package var reviewable: PushRequest {
        var changed: Set<RecordAddress> = []
        let first = transactions.prefix { numbered in
            let addresses = Set(numbered.transaction.mutations.map(\.address))
            defer { changed.formUnion(addresses) }
            return changed.isDisjoint(with: addresses)
        }
        guard first.count < transactions.count else { return self }
        return PushRequest(
            identity: identity, epoch: epoch, account: account, cursors: cursors, acknowledged: acknowledged,
            transactions: Array(first))
    }
}

/// Reads records for an application's rules, with the rights of the principal who pushes.
public struct RecordReader: Sendable {
    private let fetch: @Sendable (SpaceID, CollectionName, RecordID) async throws -> Record?

    /// Creates a reader over a function that reads with the rights of the principal.
    package init(fetch: @escaping @Sendable (SpaceID, CollectionName, RecordID) async throws -> Record?) {
        self.fetch = fetch
    }

    /// Returns a record; nil if it does not exist, or if the principal may not read it.
    public func record(_ collection: CollectionName, _ id: RecordID, in space: SpaceID) async throws -> Record? {
        try await fetch(space, collection, id)
    }
}
