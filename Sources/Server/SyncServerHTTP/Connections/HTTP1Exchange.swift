import NIOCore

/// The state machine for requests and responses on one HTTP/1.1 connection: one request at a time, each with deadlines.
///
///     quiet → head → request → quiet … ; from each of them → closing
///
/// Nothing of the next request is read before the response to the last one has been sent. A late or repeated event
/// changes nothing.
struct HTTP1Exchange: Hashable, Sendable {
    private enum State: Hashable {
        /// No byte of a request has arrived. The first request has a deadline; later ones are subject to the idle
        /// timeout.
        case quiet(until: NIODeadline?)
        /// Part of a head has arrived.
        case head(until: NIODeadline)
        case request(Request)
        /// The last response has been written. Further input is discarded, so that the peer can read that response.
        case closing(until: NIODeadline)
    }

    private struct Request: Hashable {
        var hasEnded = false
        var isLast: Bool
        /// The deadline for the rest of the request; set when the response has been sent before the request has ended.
        var answeredUntil: NIODeadline?
        var isAnswered = false
    }

    /// The action to take when a deadline may have passed.
    enum Expiry: Hashable {
        case wait(until: NIODeadline)
        /// There is no deadline.
        case none
        /// A head has begun but not ended in time: send an error, and close.
        case refuseSlowHead
        /// Close the connection without a response.
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

    /// Whether bytes from the peer may go to the parser.
    var takesBytes: Bool {
        switch state {
        case .quiet, .head, .closing: true
        case .request(let request): !request.hasEnded
        }
    }

    /// Whether a head may be passed on.
    var takesHead: Bool {
        switch state {
        case .quiet, .head: true
        case .request, .closing: false
        }
    }

    var isClosing: Bool {
        if case .closing = state { true } else { false }
    }

    /// Whether a complete request has arrived and its response has not been sent.
    var awaitsResponse: Bool {
        if case .request(let request) = state { request.hasEnded && !request.isAnswered } else { false }
    }

    /// The time at which to call `deadlinePassed(now:)`; nil when there is no deadline.
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
        // The deadline of the first head starts with the connection.
        state = .head(until: until ?? now + headDeadline)
    }

    /// Notes that the head of a request has arrived.
    ///
    /// - Parameter isLast: whether the connection closes after this request.
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

    /// Notes that the response has been written and that the system has taken its last byte.
    mutating func responseLeft(now: NIODeadline) {
        guard case .request(var request) = state, !request.isAnswered else { return }
        request.isAnswered = true
        // The rest of a body that is not read may still arrive, but only for a short time.
        request.answeredUntil = now + closeDelay
        state = .request(request)
        settle(request, now: now)
    }

    /// Notes that the request violates the rules and that the error response is being written.
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
