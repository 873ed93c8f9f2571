public import SyncAuthority

/// Finds out who holds a bearer token. Called for each request, and again and again while an event stream is open, on a
/// thread that may block.
public protocol Authenticator: Sendable {
    /// Nil for a token that is unknown or no longer good. Must not take longer for tokens that are nearly right.
    func principal(bearing token: String) -> Principal?
}
