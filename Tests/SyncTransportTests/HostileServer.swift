import NIOCore
import NIOPosix
import SyncConcurrency

/// A server that responds to the first request on each connection with bytes that the test chooses.
enum HostileServer {
    /// The server's behavior after the first bytes arrive on a connection.
    enum Response: Sendable {
        /// Sends the text and closes the connection.
        case bytes(String)
        /// Waits until `arrived` bytes have arrived, then sends the text and closes the connection.
        case bytesOnce(String, arrived: Int)
        /// Waits until enough connections have sent a request. Then sends the text on each of them, and
        /// closes it.
        case bytesTogether(String, Gathering)
        /// Sends the text and nothing more.
        case bytesAndSilence(String)
        /// Sends the first text, and then repeats the second until the connection closes.
        case endless(String, then: String)
        /// Sends the first text, and then the second at each interval.
        case drip(String, then: String, every: TimeAmount)
    }

    /// The connections that wait for each other.
    final class Gathering: Sendable {
        private let count: Int
        private let waiting = Guarded<[@Sendable () -> Void]>([])

        init(of count: Int) {
            self.count = count
        }

        /// Calls the functions of all connections once enough of them wait.
        func join(_ send: @escaping @Sendable () -> Void) {
            let complete: [@Sendable () -> Void] = waiting.withLock { waiting in
                waiting.append(send)
                return waiting.count < count ? [] : waiting
            }
            for send in complete { send() }
        }
    }

    static func run<Result>(_ response: Response, _ body: (_ url: String) async throws -> Result) async throws -> Result
    {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(HostileHandler(response))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        do {
            let result = try await body("http://127.0.0.1:\(port)")
            try await channel.close()
            return result
        } catch {
            try await channel.close()
            throw error
        }
    }

    /// A placeholder in a response that `Response.bytes` and `Response.bytesOnce` replace by the id of the request. It
    /// has the length of an id.
    static let requestID = "<the-id-of-the-request-is-here->"

    /// Returns an HTTP/1.1 response.
    ///
    /// - Parameter id: the request id that the response contains; nil for a response without one.
    static func http(_ status: String, _ fields: [String], _ body: String, id: String? = requestID) -> String {
        let fields = fields + (id.map { ["Tombolo-Request: \($0)"] } ?? [])
        return "HTTP/1.1 \(status)\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n" + body
    }
}

private final class HostileHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let response: HostileServer.Response
    private var hasResponded = false
    private var arrived = 0
    private var request = ""

    init(_ response: HostileServer.Response) {
        self.response = response
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        arrived += bytes.readableBytes
        // Only the head is inspected, and it comes first.
        if request.utf8.count < 4_096 { request += String(buffer: bytes) }
        if case .bytesOnce(_, let expected) = response, arrived < expected { return }
        guard !hasResponded else { return }
        hasResponded = true
        switch response {
        case .bytes(let text), .bytesOnce(let text, _):
            let id = request.firstRange(of: "Tombolo-Request: ").map { request[$0.upperBound...].prefix(32) } ?? ""
            let response = text.replacing(HostileServer.requestID, with: id)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: response)), promise: nil)
            context.close(promise: nil)
        case .bytesTogether(let text, let gathering):
            let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
            let eventLoop = context.eventLoop
            gathering.join {
                eventLoop.execute {
                    let context = loopBound.value
                    context.writeAndFlush(NIOAny(ByteBuffer(string: text)), promise: nil)
                    context.close(promise: nil)
                }
            }
        case .bytesAndSilence(let text):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
        case .endless(let head, let rest):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head)), promise: nil)
            flood(context, ByteBuffer(string: rest))
        case .drip(let head, let rest, let interval):
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head)), promise: nil)
            drip(context, ByteBuffer(string: rest), interval)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func flood(_ context: ChannelHandlerContext, _ bytes: ByteBuffer) {
        guard context.channel.isActive else { return }
        let loopBound = NIOLoopBound(context, eventLoop: context.eventLoop)
        context.writeAndFlush(wrapOutboundOut(bytes)).assumeIsolated().whenSuccess {
            // A direct call would nest without limit while the client reads fast, so the event loop makes the next
            // call.
            loopBound.value.eventLoop.assumeIsolated().execute { self.flood(loopBound.value, bytes) }
        }
    }

    private func drip(_ context: ChannelHandlerContext, _ bytes: ByteBuffer, _ interval: TimeAmount) {
        guard context.channel.isActive else { return }
        context.eventLoop.assumeIsolated().scheduleTask(in: interval) {
            context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
            self.drip(context, bytes, interval)
        }
    }
}
