public import SyncAuthority

/// A mapping from bearer tokens to principals.
///
/// The server calls it for each request, and repeatedly while an event stream is open, on a thread that may block.
public protocol Authenticator: Sendable {
    /// Returns the principal of a token; nil when the token is unknown or no longer valid. The time that the call takes
    /// must not reveal that a token is nearly right.
    func principal(bearing token: String) -> Principal?
}

/// A way to authenticate bearer tokens.
public enum Authentication: Sendable {
    /// Called on a thread that may block.
    case blocking(any Authenticator)
    /// Returns nil for a token that is unknown or no longer valid. When it throws, the client tries again later.
    case asynchronous(@Sendable (_ token: String) async throws -> Principal?)
    /// The tokens of an authenticator, and JSON Web Tokens. Both are called on a thread that may block.
    case webTokens(WebTokens, or: any Authenticator)
}
