import NIOCore
import NIOPosix

/// Bytes to a port, and all that comes back until the other side closes or there was enough.
enum RawRequest {
    /// - Parameters:
    ///   - parts: sent one after the other, with `pause` between them.
    ///   - enough: tells from what has come whether to stop.
    static func send(
        _ parts: [String], pause: TimeAmount = .zero, to port: Int,
        enough: @Sendable @escaping (String) -> Bool = { _ in false }
    ) async throws -> String {
        try await send(parts.map { ByteBuffer(string: $0) }, pause: pause, to: port, enough: enough)
    }

    /// Bytes that need not be text.
    static func send(
        bytes: [UInt8], to port: Int, enough: @Sendable @escaping (String) -> Bool
    ) async throws -> String {
        try await send([ByteBuffer(bytes: bytes)], pause: .zero, to: port, enough: enough)
    }

    private static func send(
        _ parts: [ByteBuffer], pause: TimeAmount, to port: Int, enough: @Sendable @escaping (String) -> Bool
    ) async throws -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let answer = loop.makePromise(of: String.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Collector(answer, enough))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
        } catch {
            // A promise that nobody keeps is a trap in NIO, which would hide why there is no connection.
            answer.fail(error)
            throw error
        }
        for (index, part) in parts.enumerated() {
            loop.scheduleTask(in: .nanoseconds(pause.nanoseconds * Int64(index))) {
                channel.writeAndFlush(part, promise: nil)
            }
        }
        // Reached only when the server hangs.
        let limit = loop.scheduleTask(in: .minutes(10)) {
            answer.fail(StillOpen())
            channel.close(promise: nil)
        }
        let text = try await answer.futureResult.get()
        limit.cancel()
        return text
    }

    /// The other side has not closed the connection in 10 minutes, and there was not enough.
    struct StillOpen: Error {}

    /// A request in HTTP/1.1 that asks for the connection to be closed.
    static func http(_ line: String, _ fields: [String] = [], _ body: String = "") -> String {
        "\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n"
            + body
    }
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let answer: EventLoopPromise<String>
    private let enough: @Sendable (String) -> Bool
    private var text = ""

    init(_ answer: EventLoopPromise<String>, _ enough: @Sendable @escaping (String) -> Bool) {
        self.answer = answer
        self.enough = enough
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
        if enough(text) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        answer.succeed(text)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
