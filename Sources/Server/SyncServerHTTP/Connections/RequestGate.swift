import HTTPTypes
import NIOCore
import NIOHTTP1
import SyncWire

/// Passes one request at a time to the routes, and rejects requests that violate the rules. It is placed after the
/// parser.
///
/// A pipelined request waits, unread where possible, until the previous response has been sent. Otherwise, a peer that
/// reads nothing could make the server keep all its responses in memory. `RequestPacer`, before the parser, holds the
/// bytes.
final class RequestGate: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    private var exchange: HTTP1Exchange?
    /// The parts of later requests that arrived in the same slice of bytes as a request without a response.
    private var held = CircularBuffer<HTTPServerRequestPart>()
    /// A violation that was found after the held parts.
    private var heldRefusal: Refused?
    private var timer: (task: Scheduled<Void>, deadline: NIODeadline)?
    private var hasBegunResponse = false
    /// Whether the response must end with its head, whose fields still describe a body (RFC 9110, section 9.3.2).
    private var endsWithHead = false
    private let activity: Activity
    private var context: ChannelHandlerContext?

    /// Resumes the forwarding of bytes. It is called when a response has been sent.
    var resume: () -> Void = {}

    /// The callbacks that report the requests of a connection.
    struct Activity {
        var requestBegan: () -> Void = {}
        /// The whole request has arrived.
        var requestArrived: () -> Void = {}
        var requestEnded: () -> Void = {}
    }

    /// An error response that is sent without calling the routes.
    struct Refused {
        let status: HTTPResponseStatus
        let code: ErrorBody.Code
        let message: String
    }

    init(activity: Activity = Activity()) {
        self.activity = activity
    }

    /// Whether bytes may go to the parser.
    var takesBytes: Bool { held.isEmpty && heldRefusal == nil && exchange?.takesBytes != false }
    var isClosing: Bool { exchange?.isClosing == true }
    /// The number of parts that wait for a response. For tests.
    var heldParts: Int { held.count }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        exchange = HTTP1Exchange(now: context.eventLoop.now)
        watch(context)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.task.cancel()
        self.context = nil
        resume = {}
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.task.cancel()
        if exchange?.takesHead == false, !isClosing { activity.requestEnded() }
        exchange = nil
        held = []
        context.fireChannelInactive()
    }

    /// Notes that bytes are about to go to the parser.
    func bytesArrived() {
        guard let context else { return }
        exchange?.bytesArrived(now: context.eventLoop.now)
        watch(context)
    }

    // MARK: Requests

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing, heldRefusal == nil else { return }
        let part = unwrapInboundIn(data)
        guard held.isEmpty, mayPass(part) else { return held.append(part) }
        pass(part, context)
    }

    private func mayPass(_ part: HTTPServerRequestPart) -> Bool {
        if case .head = part { exchange?.takesHead == true } else { true }
    }

    private func pass(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head):
            if let violation = RequestHeadRules.violation(of: head) {
                return refuse(Refused(status: .badRequest, code: .malformed, message: violation), context)
            }
            exchange?.headArrived(isLast: !head.isKeepAlive)
            hasBegunResponse = false
            endsWithHead = head.method == .HEAD
            activity.requestBegan()
            if RequestHeadRules.expectsContinue(head) {
                let go = HTTPResponseHead(version: .http1_1, status: .continue)
                context.writeAndFlush(wrapOutboundOut(.head(go)), promise: nil)
            }
        case .body: break
        case .end:
            exchange?.requestEnded(now: context.eventLoop.now)
            activity.requestArrived()
        }
        watch(context)
        context.fireChannelRead(wrapInboundOut(part))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let refused = Refused(error) else { return context.fireErrorCaught(error) }
        guard !isClosing, heldRefusal == nil else { return }
        if exchange?.awaitsResponse == true || !held.isEmpty {
            heldRefusal = refused
        } else {
            refuse(refused, context)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The peer has read the last response and sends nothing more.
        if isClosing, case .inputClosed? = event as? ChannelEvent { return context.close(promise: nil) }
        context.fireUserInboundEventTriggered(event)
    }

    // MARK: Responses

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The routes may still write a response to a request that was rejected in the meantime.
        guard !isClosing else {
            promise?.fail(ChannelError.outputClosed)
            return
        }
        hasBegunResponse = true
        switch unwrapOutboundIn(data) {
        case .body where endsWithHead:
            promise?.succeed()
            return
        case .head, .body: return context.write(data, promise: promise)
        case .end: break
        }
        let left = promise ?? context.eventLoop.makePromise(of: Void.self)
        left.futureResult.assumeIsolated().whenSuccess { [self] in responseLeft(context) }
        context.write(data, promise: left)
    }

    private func responseLeft(_ context: ChannelHandlerContext) {
        exchange?.responseLeft(now: context.eventLoop.now)
        activity.requestEnded()
        watch(context)
        if isClosing { return context.close(mode: .output, promise: nil) }
        var hasPassed = false
        while let part = held.first, mayPass(part), !isClosing {
            held.removeFirst()
            pass(part, context)
            hasPassed = true
        }
        if isClosing { held = [] }
        if hasPassed { context.fireChannelReadComplete() }
        if held.isEmpty, let refused = heldRefusal, exchange?.awaitsResponse == false {
            heldRefusal = nil
            refuse(refused, context)
        }
        resume()
    }

    /// Sends an error response instead of calling the routes, and closes the connection after the peer has had time to
    /// read it.
    private func refuse(_ refused: Refused, _ context: ChannelHandlerContext) {
        let mayAnswer = exchange?.takesHead == true || !hasBegunResponse
        if exchange?.takesHead == false { activity.requestEnded() }
        exchange?.refused(now: context.eventLoop.now)
        held = []
        watch(context)
        guard mayAnswer else { return context.close(promise: nil) }
        let body = ByteBuffer(bytes: ErrorBody(refused.code, refused.message).encode())
        var fields = HTTPHeaders([("Connection", "close"), ("Content-Length", "\(body.readableBytes)")])
        for field in HTTPFields.plain(type: "application/json") {
            fields.add(name: field.name.rawName, value: field.value)
        }
        let head = HTTPResponseHead(version: .http1_1, status: refused.status, headers: fields)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.close(mode: .output, promise: nil)
    }

    // MARK: Deadlines

    /// Schedules a timer that fires no later than the deadline, if there is one. A timer that fires too early is
    /// scheduled again.
    private func watch(_ context: ChannelHandlerContext) {
        guard let deadline = exchange?.deadline, timer.map({ deadline < $0.deadline }) ?? true else { return }
        timer?.task.cancel()
        let task = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
            timer = nil
            switch exchange?.deadlinePassed(now: context.eventLoop.now) {
            case nil, .none?: break
            case .wait: watch(context)
            case .refuseSlowHead:
                refuse(
                    Refused(
                        status: .requestTimeout, code: .timedOut,
                        message: "the head of the request did not arrive within \(SyncServerLimits.headDeadline)"),
                    context)
            case .cut: context.close(promise: nil)
            }
        }
        timer = (task, deadline)
    }
}

extension RequestGate.Refused {
    /// Returns nil for an error that does not concern the request.
    init?(_ error: any Error) {
        switch error {
        case HTTPParserError.headerOverflow:
            status = .requestHeaderFieldsTooLarge
            code = .tooLarge
            message =
                "the head of the request is too long; expected at most \(SyncServerLimits.headerFields) fields and \(SyncServerLimits.headerBytes) bytes"
        case is HTTPParserError, is NIOHTTPDecoderError, is ByteToMessageDecoderError:
            status = .badRequest
            code = .malformed
            message = "the request is not valid HTTP/1.1"
        default: return nil
        }
    }
}
