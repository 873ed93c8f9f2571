public import SyncAuthority
public import SyncModel

/// The application's own rules for what clients write, asked before a push is carried out.
public protocol TransactionReview: Sendable {
    /// Returns why a transaction is rejected; nil when it is not.
    ///
    /// Called for each transaction of a push, in their order, perhaps again for one that was decided before: the first outcome stays.
    ///
    /// - Parameter records: reads the records as they are before this push.
    /// - Throws: when the question cannot be answered. Nothing of the push is carried out then, and the client tries again later.
    func rejection(
        of transaction: Transaction, by principal: Principal, records: RecordReader
    ) async throws -> Rejection?
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
