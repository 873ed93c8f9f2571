public import SyncModel

/// The application's own rules for the writes of clients. The server evaluates them before it applies a push.
public protocol TransactionReview: Sendable {
    /// Returns the rejections of a push by transaction number.
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
