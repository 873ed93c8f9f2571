import NIOCore
import NIOPosix
import NIOSSL
import NIOTLS

/// An HTTP/2 client that ignores everything it receives after the connection is established, and sends one request each
/// time data arrives.
struct StubbornConnection: Sendable {
    private let channel: any Channel

    /// Returns once the server is ready.
    init(to port: Int) async throws {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.certificateVerification = .none
        tls.applicationProtocols = ["h2"]
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
        var bytes = ByteBuffer(string: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        // An empty SETTINGS frame (RFC 9113 §6.5).
        bytes.writeBytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
        context.writeAndFlush(wrapOutboundOut(bytes), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasGreeted else { return }
        hasGreeted = true
        var stream: UInt8 = 1
        inbound.dataWithheld = { [self] in
            // GET https://localhost/ as a complete stream (RFC 7541 §6.1 and §6.2.1).
            let fields: [UInt8] = [0x82, 0x87, 0x84, 0x41, 9] + Array("localhost".utf8)
            let head: [UInt8] = [0, 0, UInt8(fields.count), 1, 5, 0, 0, 0, stream]
            stream = min(stream + 2, 101)
            context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: head + fields)), promise: nil)
        }
        ready.succeed()
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbound.dataWithheld = nil
        ready.fail(ChannelError.eof)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}
