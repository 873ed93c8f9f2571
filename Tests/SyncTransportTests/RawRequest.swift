import NIOCore
import NIOPosix

/// Sends raw bytes to a port, and collects the response until the server closes the connection or the response is
/// enough.
enum RawRequest {
    /// - Parameters:
    ///   - parts: The texts to send in order, with `pause` between them.
    ///   - isComplete: Returns whether the response so far is enough to stop.
    static func send(
        _ parts: [String], pause: TimeAmount = .zero, to port: Int,
        isComplete: @Sendable @escaping (String) -> Bool = { _ in false }
    ) async throws -> String {
        try await send(parts.map { ByteBuffer(string: $0) }, pause: pause, to: port, isComplete: isComplete)
    }

    /// Sends bytes that need not be text.
    static func send(
        bytes: [UInt8], to port: Int, isComplete: @Sendable @escaping (String) -> Bool
    ) async throws -> String {
        try await send([ByteBuffer(bytes: bytes)], pause: .zero, to: port, isComplete: isComplete)
    }

    /// Sends a text, and then sends `drop` repeatedly until the response is complete or the connection is closed.
    static func send(
        _ text: String, thenKeepSending drop: String, every pause: TimeAmount, to port: Int,
        isComplete: @Sendable @escaping (String) -> Bool
    ) async throws -> String {
        try await send([ByteBuffer(string: text)], pause: .zero, to: port, isComplete: isComplete) { channel in
            channel.eventLoop.scheduleRepeatedTask(initialDelay: pause, delay: pause) { task in
                guard channel.isActive else { return task.cancel() }
                channel.writeAndFlush(ByteBuffer(string: drop), promise: nil)
            }
        }
    }

    private static func send(
        _ parts: [ByteBuffer], pause: TimeAmount, to port: Int, isComplete: @Sendable @escaping (String) -> Bool,
        whenConnected: (any Channel) -> Void = { _ in }
    ) async throws -> String {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let response = loop.makePromise(of: String.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Collector(response, isComplete))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
        } catch {
            // NIO traps on a promise that is never completed, which would hide the reason for the failed connection.
            response.fail(error)
            throw error
        }
        for (index, part) in parts.enumerated() {
            loop.scheduleTask(in: .nanoseconds(pause.nanoseconds * Int64(index))) {
                channel.writeAndFlush(part, promise: nil)
            }
        }
        whenConnected(channel)
        // This limit is reached only if the server hangs.
        let limit = loop.scheduleTask(in: .minutes(10)) {
            response.fail(StillOpen())
            channel.close(promise: nil)
        }
        let text = try await response.futureResult.get()
        limit.cancel()
        return text
    }

    /// The server has neither closed the connection nor sent enough in the time allowed.
    struct StillOpen: Error {}

    /// Returns the status of a response; "none" if it has no status line.
    static func status(_ response: String) -> String {
        String(response.split(separator: " " as Character).dropFirst().first ?? "none")
    }

    /// Returns an HTTP/1.1 request with `Connection: close`.
    static func http(_ line: String, _ fields: [String] = [], _ body: String = "") -> String {
        "\(line) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + fields.map { "\($0)\r\n" }.joined() + "\r\n"
            + body
    }
}

private final class Collector: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let response: EventLoopPromise<String>
    private let isComplete: @Sendable (String) -> Bool
    private var text = ""

    init(_ response: EventLoopPromise<String>, _ isComplete: @Sendable @escaping (String) -> Bool) {
        self.response = response
        self.isComplete = isComplete
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        text += String(buffer: unwrapInboundIn(data))
        if isComplete(text) { context.close(promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        response.succeed(text)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
