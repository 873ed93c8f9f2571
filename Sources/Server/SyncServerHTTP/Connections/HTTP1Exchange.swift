import NIOCore

/// The turns that requests and responses take on one connection of HTTP/1.1: one request at a time, each with deadlines.
///
///     quiet → head → request → quiet … ; from each of them → closing
///
/// Nothing of a next request is read before the response to the last one has left. A late or repeated event changes nothing.
struct HTTP1Exchange: Hashable, Sendable {
    private enum State: Hashable {
        /// No byte of a request has come. The first one has a deadline; for later ones the idle timeout counts.
        case quiet(until: NIODeadline?)
        /// A part of a head has come.
        case head(until: NIODeadline)
        case request(Request)
        /// The last response is written. What still comes is thrown away, so that the peer can read that response.
        case closing(until: NIODeadline)
    }

    private struct Request: Hashable {
        var hasEnded = false
        var isLast: Bool
        /// Set once the response has left before its request has ended.
        var answeredUntil: NIODeadline?
        var isAnswered = false
    }

    /// The action to take when a deadline may have passed.
    enum Expiry: Hashable {
        case wait(until: NIODeadline)
        /// Nothing has a deadline now.
        case none
        /// A head has begun and does not end: say so, and close.
        case refuseSlowHead
        case cut
    }

    private var state: State
    private let headDeadline: TimeAmount
    private let closeDelay: TimeAmount

    init(
        now: NIODeadline, headDeadline: TimeAmount = TimeAmount(SyncServerLimits.headDeadline),
        closeDelay: TimeAmount = TimeAmount(SyncServerLimits.closeDelay)
    ) {
        self.headDeadline = headDeadline
        self.closeDelay = closeDelay
        state = .quiet(until: now + headDeadline)
    }

    /// Whether bytes of the peer may go to the parser.
    var takesBytes: Bool {
        switch state {
        case .quiet, .head, .closing: true
        case .request(let request): !request.hasEnded
        }
    }

    /// Whether a head may be handed on.
    var takesHead: Bool {
        switch state {
        case .quiet, .head: true
        case .request, .closing: false
        }
    }

    var isClosing: Bool {
        if case .closing = state { true } else { false }
    }

    /// Whether a request has come whole, and its response has not left.
    var awaitsResponse: Bool {
        if case .request(let request) = state { request.hasEnded && !request.isAnswered } else { false }
    }

    /// When to call `deadlinePassed(now:)`.
    var deadline: NIODeadline? {
        switch state {
        case .quiet(let until): until
        case .head(let until), .closing(let until): until
        case .request(let request): request.answeredUntil
        }
    }

    // MARK: Events

    mutating func bytesArrived(now: NIODeadline) {
        guard case .quiet(let until) = state else { return }
        // The first head has its deadline from the connection's first moment on.
        state = .head(until: until ?? now + headDeadline)
    }

    /// - Parameter isLast: whether the peer wants the connection closed after this request.
    mutating func headArrived(isLast: Bool) {
        guard takesHead else { return }
        state = .request(Request(isLast: isLast))
    }

    mutating func requestEnded(now: NIODeadline) {
        guard case .request(var request) = state else { return }
        request.hasEnded = true
        state = .request(request)
        settle(request, now: now)
    }

    /// The response is written, and its last byte was taken by the system.
    mutating func responseLeft(now: NIODeadline) {
        guard case .request(var request) = state, !request.isAnswered else { return }
        request.isAnswered = true
        // A body that nobody reads may end, but not go on for long.
        request.answeredUntil = now + closeDelay
        state = .request(request)
        settle(request, now: now)
    }

    /// The request breaks the rules, and its refusal is being written.
    mutating func refused(now: NIODeadline) {
        guard !isClosing else { return }
        state = .closing(until: now + closeDelay)
    }

    func deadlinePassed(now: NIODeadline) -> Expiry {
        guard let deadline else { return .none }
        guard deadline <= now else { return .wait(until: deadline) }
        if case .head = state { return .refuseSlowHead }
        return .cut
    }

    private mutating func settle(_ request: Request, now: NIODeadline) {
        guard request.hasEnded, request.isAnswered else { return }
        state = request.isLast ? .closing(until: now + closeDelay) : .quiet(until: nil)
    }
}
