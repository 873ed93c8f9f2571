import SyncCore
import SyncModel

/// A response from something between a device and the server: a proxy, a gateway, a cache, or the server's own front
/// end.
public enum ScriptedResponse: String, Hashable, Sendable, CaseIterable {
    /// HTTP 401, from the server itself: the token has expired.
    case unauthorized
    /// HTTP 403.
    case forbidden
    /// HTTP 408.
    case requestTimeout
    /// HTTP 413, for pushes of more than one transaction.
    case tooLarge
    /// HTTP 429 or 503, with a wait of several minutes.
    case retryLater
    /// HTTP 503, with an impractically long wait.
    case retryMuchLater
    /// HTTP 500.
    case serverError
    /// HTTP 200, with a body of a different format.
    case wrongShape
    /// HTTP 200, with an earlier response to the same request, or as `wrongShape` when there was none. Only for calls
    /// that read.
    case stale

    /// The failure that the device's transport reports; nil for responses that arrive as bytes.
    var failure: TransportError? {
        switch self {
        case .unauthorized: TransportError(.unauthorized, "the token has expired", isDefinite: true)
        case .forbidden: TransportError(.forbidden, "a gateway says no")
        case .requestTimeout: TransportError(.timedOut, "the gateway has waited too long")
        case .tooLarge: TransportError(.tooLarge, "the gateway takes no more than this")
        case .retryLater: TransportError(.throttled, "too many requests", retryAfter: .seconds(400))
        case .retryMuchLater: TransportError(.throttled, "too many requests", retryAfter: .seconds(864_000))
        case .serverError: TransportError(.serverFailed, "internal error")
        case .wrongShape, .stale: nil
        }
    }

    var fault: FaultKind {
        switch self {
        case .unauthorized: .unauthorized
        case .forbidden: .forbidden
        case .requestTimeout: .requestTimeout
        case .tooLarge: .pushTooLarge
        case .retryLater, .retryMuchLater: .retryLater
        case .serverError: .serverError
        case .wrongShape: .wrongShape
        case .stale: .staleResponse
        }
    }

    func applies(to call: ServerRequest) -> Bool {
        switch (self, call) {
        case (.tooLarge, .push(let request)): request.transactions.count > 1
        case (.tooLarge, _), (.stale, .push): false
        default: true
        }
    }
}
