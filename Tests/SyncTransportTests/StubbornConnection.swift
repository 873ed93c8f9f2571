import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A TLS client that ignores all data after the first response, including the server's close, and sends another request
/// each time data arrives.
struct StubbornConnection: Sendable {
    private let channel: any Channel

    /// Connects, sends a request, and returns once data of the response has arrived.
    init(to port: Int) async throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        tls.applicationProtocols = ["http/1.1"]
        let context = try NIOSSLContext(configuration: tls)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let ready = loop.makePromise(of: Void.self)
        do {
            channel = try await ClientBootstrap(group: loop)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let inbound = InboundFilter()
                        try channel.pipeline.syncOperations.addHandlers(
                            inbound, try NIOSSLClientHandler(context: context, serverHostname: "localhost"),
                            RequestSender(inbound, ready))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
        } catch {
            ready.fail(error)
            throw error
        }
        try await ready.futureResult.get()
    }

    /// Returns once the server has closed the connection.
    func waitUntilClosed() async throws {
        try await channel.closeFuture.get()
    }
}

/// A handler between the socket and TLS that can withhold incoming data from TLS.
private final class InboundFilter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// If set, the handler drops incoming data and calls this closure instead.
    var dataWithheld: (() -> Void)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let dataWithheld else { return context.fireChannelRead(data) }
        dataWithheld()
    }
}

private final class RequestSender: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let inbound: InboundFilter
    private let ready: EventLoopPromise<Void>
    private var hasResponse = false

    init(_ inbound: InboundFilter, _ ready: EventLoopPromise<Void>) {
        self.inbound = inbound
        self.ready = ready
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
        send(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasResponse else { return }
        hasResponse = true
        inbound.dataWithheld = { [self] in send(context) }
        ready.succeed()
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbound.dataWithheld = nil
        ready.fail(ChannelError.eof)
    }

    private func send(_ context: ChannelHandlerContext) {
        let request = ByteBuffer(string: "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
