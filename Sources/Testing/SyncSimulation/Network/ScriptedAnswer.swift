import SyncCore
import SyncModel

/// An answer from something between a device and the server: a proxy, a gateway, a cache, or the server's own front
/// end.
public enum ScriptedAnswer: String, Hashable, Sendable, CaseIterable {
    /// HTTP 401: the token has expired, until the device is given a new one.
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
    /// HTTP 200, with an earlier answer to the same request. Only for calls that read.
    case stale

    /// The failure that the device's transport reports; nil for answers that arrive as bytes.
    var failure: TransportFailure? {
        switch self {
        case .unauthorized: TransportFailure(.unauthorized, "the token has expired")
        case .forbidden: TransportFailure(.forbidden, "a gateway says no")
        case .requestTimeout: TransportFailure(.timedOut, "the gateway has waited too long")
        case .tooLarge: TransportFailure(.tooLarge, "the gateway takes no more than this")
        case .retryLater: TransportFailure(.throttled, "too many requests", retryAfter: .seconds(400))
        case .retryMuchLater: TransportFailure(.throttled, "too many requests", retryAfter: .seconds(864_000))
        case .serverError: TransportFailure(.serverFailed, "internal error")
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
        case .stale: .staleAnswer
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
