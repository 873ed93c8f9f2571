public import SyncAuthority
public import SyncModel

/// The application's own rules for what clients write, asked before a push is carried out.
public protocol TransactionReview: Sendable {
    /// Returns the transactions of a push that are rejected, with the reasons.
    ///
    /// A push may repeat transactions that were decided before. Their first outcome stays.
    ///
    /// - Parameter records: reads the records as they are before this push.
    /// - Throws: when the question cannot be answered. Nothing of the push is carried out then, and the client tries again later.
    func rejections(
        of transactions: [NumberedTransaction], by principal: Principal, records: RecordReader
    ) async throws -> [TransactionNumber: Rejection]
}

/// Reads records for an application's rules, with the rights of the principal who pushes.
public struct RecordReader: Sendable {
    private let fetch: @Sendable (SpaceID, CollectionName, RecordID) async throws -> Record?

    init(fetch: @escaping @Sendable (SpaceID, CollectionName, RecordID) async throws -> Record?) {
        self.fetch = fetch
    }

    /// Returns a record; nil when there is none, or none that the principal may see.
    public func record(_ collection: CollectionName, _ id: RecordID, in space: SpaceID) async throws -> Record? {
        try await fetch(space, collection, id)
    }
}

/// The way to find out who holds a bearer token.
public enum Authentication: Sendable {
    /// Asked on a thread that may block.
    case blocking(any Authenticator)
    /// Returns nil for a token that is unknown or no longer good. When it throws, the client tries again later.
    case asynchronous(@Sendable (_ token: String) async throws -> Principal?)
}
