import HummingbirdCore
import Logging
import NIOCore
import NIOSSL
import NIOTLS

/// Connections of another kind, within bounds: all are remembered, and a TLS handshake has a deadline.
struct BoundedChannel<Base: ServerChildChannel>: ServerChildChannel {
    let base: Base
    let connections: OpenConnections
    /// How long a TLS handshake may take; nil without TLS.
    let handshake: Duration?

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
        connections.add(channel)
        let value = base.setup(channel: channel, logger: logger)
        guard let handshake else { return value }
        do {
            let pipeline = channel.pipeline.syncOperations
            // Before what picks the protocol, which keeps the news of the handshake to itself.
            let tls = try pipeline.handler(type: NIOSSLServerHandler.self)
            try pipeline.addHandler(HandshakeDeadline(TimeAmount(handshake)), position: .after(tls))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return value
    }

    func handle(value: Base.Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// Closes a connection whose TLS handshake is not done in time.
final class HandshakeDeadline: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    private let patience: TimeAmount
    private var timer: Scheduled<Void>?

    init(_ patience: TimeAmount) {
        self.patience = patience
    }

    func handlerAdded(context: ChannelHandlerContext) {
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: patience) { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case .handshakeCompleted? = event as? TLSUserEvent { timer?.cancel() }
        context.fireUserInboundEventTriggered(event)
    }
}
