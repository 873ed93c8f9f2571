/// Why a call to the server brought no usable answer.
public struct TransportFailure: Error, Hashable, Sendable {
    public let code: Code
    /// Says what was wrong and what was expected. Holds no secret.
    public let message: String
    /// How long the server asked to be left alone, when it did.
    public let retryAfter: Duration?
    /// Whether the request was certainly not carried out, and would not be if it were sent again unchanged: the server said
    /// so itself about this very request, or the request has no form on the wire.
    ///
    /// A status alone proves nothing, because a gateway, a cache, or a sign-in page may have answered. No transaction leaves
    /// the outbox because of a failure that is not definite.
    public let isDefinite: Bool

    public init(_ code: Code, _ message: String, retryAfter: Duration? = nil, isDefinite: Bool = false) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.isDefinite = isDefinite
    }

    /// Returns the same failure with another message.
    package func worded(_ message: String) -> TransportFailure {
        TransportFailure(code, message, retryAfter: retryAfter, isDefinite: isDefinite)
    }

    /// Whether the server has definitely refused the contents of the request, as opposed to who sent it or when.
    package var blamesRequest: Bool {
        switch code {
        case .forbidden, .tooLarge, .refused: isDefinite
        case .unreachable, .timedOut, .unauthorized, .otherAccount, .throttled, .serverFailed, .incompatible,
            .notUnderstood, .cancelled:
            false
        }
    }

    /// Whether the server asked for a pause: a wait for that is not cut short by a wish.
    package var asksForPause: Bool { retryAfter.map { $0 > .zero } ?? false }

    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// No connection: refused, no route, no name, TLS failed.
        case unreachable
        /// No answer in time.
        case timedOut
        /// The token is missing, unknown or expired.
        case unauthorized
        /// The token is of another account than the one that was asked for.
        case otherAccount
        /// The principal may not do this.
        case forbidden
        /// The request is larger than the server takes.
        case tooLarge
        /// The server wants to be asked less often.
        case throttled
        /// The server failed.
        case serverFailed
        /// The server does not speak our version of the protocol.
        case incompatible
        /// The server says that the request is malformed: this build or a proxy is at fault.
        case refused
        /// The answer is not what the protocol allows: a captive portal's page, a cut or damaged body, a version that
        /// goes back, a negative uid.
        case notUnderstood
        /// The caller gave up.
        case cancelled
    }
}

extension TransportFailure: CustomStringConvertible {
    public var description: String { message }
}
