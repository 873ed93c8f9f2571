import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// A client that ignores everything it receives after the first response, and sends one request each time data arrives.
struct StubbornConnection: Sendable {
    private let channel: any Channel

    /// Returns once the server is ready.
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
                        let inbound = Ear()
                        try channel.pipeline.syncOperations.addHandlers(
                            inbound, try NIOSSLClientHandler(context: context, serverHostname: "localhost"),
                            Mouth(inbound, ready))
                    }
                }
                .connect(host: "127.0.0.1", port: port).get()
        } catch {
            ready.fail(error)
            throw error
        }
        try await ready.futureResult.get()
    }

    /// Returns once the connection is closed.
    func end() async throws {
        channel.close(promise: nil)
        try await channel.closeFuture.get()
    }
}

/// A handler in front of TLS that withholds incoming data once `dataWithheld` is set.
private final class Ear: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    /// If this is set, incoming data is dropped and this closure is called instead.
    var dataWithheld: (() -> Void)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let dataWithheld else { return context.fireChannelRead(data) }
        dataWithheld()
    }
}

private final class Mouth: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let inbound: Ear
    private let ready: EventLoopPromise<Void>
    private var hasGreeted = false

    init(_ inbound: Ear, _ ready: EventLoopPromise<Void>) {
        self.inbound = inbound
        self.ready = ready
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard case .handshakeCompleted? = event as? TLSUserEvent else { return }
        send(context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasGreeted else { return }
        hasGreeted = true
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
