import SyncCore
import SyncModel

/// The answers of something between a device and the server in its place: a proxy, a gateway, a cache, or the
/// server's own door.
public enum ScriptedAnswer: String, Hashable, Sendable, CaseIterable {
    /// 401: the token has expired, until the device is given a new one.
    case unauthorized
    /// 403.
    case forbidden
    /// 408.
    case requestTimeout
    /// 413, to pushes of more than one transaction.
    case tooLarge
    /// 429 or 503, with minutes to wait.
    case retryLater
    /// 503, with a time to wait that nobody has.
    case retryMuchLater
    /// 500.
    case serverError
    /// 200, with a body of another shape.
    case wrongShape
    /// 200, with what was answered to the same request before; to what only reads.
    case stale

    /// The failure that the device's transport makes of it; nil for those that come as bytes.
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

    func applies(to call: ServerCall) -> Bool {
        switch (self, call) {
        case (.tooLarge, .push(let request)): request.transactions.count > 1
        case (.tooLarge, _), (.stale, .push): false
        default: true
        }
    }
}
