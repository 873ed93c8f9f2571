/// The reason why a call to the server brought no usable response.
public struct TransportError: Error, Hashable, Sendable {
    /// The reason, for programs.
    public let code: Code
    /// States what was wrong and what was expected. Contains no secret.
    public let message: String
    /// The length of the pause that the server asked for; nil if it did not ask.
    public let retryAfter: Duration?
    /// Whether the request was certainly not carried out, and would not be if it were sent again unchanged.
    ///
    /// It is true when the server itself said so about this very request, or when the request cannot be encoded. A
    /// status alone proves nothing, because a gateway, a cache, or a sign-in page may have answered. No transaction
    /// leaves the outbox because of a failure that is not definite.
    public let isDefinite: Bool

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - message: The fault and the expectation, as a sentence without secrets.
    ///   - retryAfter: The pause that the server asked for; nil if it did not ask.
    ///   - isDefinite: Whether the server itself has said that it does not carry out this request.
    public init(_ code: Code, _ message: String, retryAfter: Duration? = nil, isDefinite: Bool = false) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.isDefinite = isDefinite
    }

    /// Returns the same failure with another message.
    package func worded(_ message: String) -> TransportError {
        TransportError(code, message, retryAfter: retryAfter, isDefinite: isDefinite)
    }

    /// Whether the server has definitely refused the contents of the request, rather than its sender or its time.
    package var blamesRequest: Bool {
        switch code {
        case .forbidden, .tooLarge, .refused: isDefinite
        case .unreachable, .timedOut, .unauthorized, .otherAccount, .throttled, .serverFailed, .incompatible,
            .notUnderstood, .cancelled:
            false
        }
    }

    /// Whether the server refuses this device, its account, or its build. Repeating the request does not help until a
    /// person has done something.
    public var refusesDevice: Bool {
        switch code {
        case .unauthorized, .otherAccount, .incompatible, .forbidden: true
        case .unreachable, .timedOut, .tooLarge, .throttled, .serverFailed, .refused, .notUnderstood, .cancelled: false
        }
    }

    /// Whether the server asked for a pause. A request to sync does not end such a wait early.
    package var asksForPause: Bool { retryAfter.map { $0 > .zero } ?? false }

    /// Whether the server responded only to ask the device to wait, with or without a time.
    package var asksToWait: Bool { !refusesDevice && (code == .throttled || asksForPause) }

    /// The reasons. `refusesDevice` is true for those that only a person can remove.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// No connection: refused, no route, name not resolved, or TLS failed.
        case unreachable
        /// No response in time.
        case timedOut
        /// The token is missing, unknown, or expired.
        case unauthorized
        /// The token belongs to another account than the requested one.
        case otherAccount
        /// The principal may not make this request.
        case forbidden
        /// The request is larger than the server takes.
        case tooLarge
        /// The server wants fewer requests.
        case throttled
        /// The server failed.
        case serverFailed
        /// The server does not speak this build's version of the protocol.
        case incompatible
        /// The server says that the request is malformed. This build or a proxy is at fault.
        case refused
        /// The response violates the protocol: a captive portal's page, a truncated or damaged body, a version that
        /// goes back, a negative uid.
        case notUnderstood
        /// The caller gave up.
        case cancelled
    }
}

extension TransportError: CustomStringConvertible {
    public var description: String { message }
}
