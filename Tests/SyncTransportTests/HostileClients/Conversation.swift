import NIOCore
import NIOPosix

/// A connection on which a test sends requests one at a time.
struct Conversation: Sendable {
    private let channel: any Channel
    private let listener: NIOLoopBound<Listener>

    init(to port: Int) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        (channel, listener) = try await ClientBootstrap(group: loop)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let listener = Listener()
                    try channel.pipeline.syncOperations.addHandler(listener)
                    return (channel, NIOLoopBound(listener, eventLoop: channel.eventLoop))
                }
            }
    }

    /// Sends a request, and returns the response once `isEnough` returns true for it or the server closes the
    /// connection.
    func send(_ text: String, until isEnough: @Sendable @escaping (String) -> Bool) async throws -> String {
        let response = channel.eventLoop.makePromise(of: String.self)
        channel.eventLoop.execute { [channel, listener] in
            listener.value.listen(response, isEnough)
            channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        }
        // This limit is reached only if the server hangs.
        let limit = channel.eventLoop.scheduleTask(in: .minutes(10)) { response.fail(RawRequest.StillOpen()) }
        defer { limit.cancel() }
        return try await response.futureResult.get()
    }

    func end() {
        channel.close(promise: nil)
    }

    private final class Listener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var text = ""
        private var waiting: (response: EventLoopPromise<String>, isEnough: (String) -> Bool)?
        private var isClosed = false

        func listen(_ response: EventLoopPromise<String>, _ isEnough: @escaping (String) -> Bool) {
            waiting = (response, isEnough)
            text = ""
            if isClosed { finish() }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
            if let waiting, waiting.isEnough(text) { finish() }
        }

        func channelInactive(context: ChannelHandlerContext) {
            isClosed = true
            finish()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            context.close(promise: nil)
        }

        private func finish() {
            waiting?.response.succeed(text)
            waiting = nil
        }
    }
}

extension String {
    /// Returns the number of times that `text` occurs in this string.
    func count(of text: String) -> Int { ranges(of: text).count }
}
