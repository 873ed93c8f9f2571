public import SyncAuthority
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

    init(fetch: @escaping @Sendable (SpaceID, CollectionName, RecordID) async throws -> Record?) {
        self.fetch = fetch
    }

    /// Returns a record; nil if it does not exist, or if the principal may not read it.
    public func record(_ collection: CollectionName, _ id: RecordID, in space: SpaceID) async throws -> Record? {
        try await fetch(space, collection, id)
    }
}

/// A way to authenticate bearer tokens.
public enum Authentication: Sendable {
    /// Called on a thread that may block.
    case blocking(any Authenticator)
    /// Returns nil for a token that is unknown or no longer valid. When it throws, the client tries again later.
    case asynchronous(@Sendable (_ token: String) async throws -> Principal?)
    /// The tokens of an authenticator, which is called on a thread that may block, and JSON Web Tokens.
    case webTokens(WebTokens, or: any Authenticator)
}
