import Glibc
import HummingbirdCore
import HummingbirdHTTP2
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS

/// Sets up a connection with HTTP/1.1, or with TLS and the negotiated version of HTTP, and with the handlers that bound
/// its use of resources.
///
///     socket ─ SlowReaderGuard ─ [TLS ─ HandshakeDeadline] ─┬─ RequestPacer ─ parser ─ RequestGate ─ routes
///                                                           └─ HTTP/2 ─ HTTP2Guard ─ streams: StreamGuard ─ routes
struct ConnectionChannel: ServerChildChannel {
    let http1: HTTP1Channel
    let http2: HTTP2Channel
    /// The TLS context; nil for plain HTTP.
    let tls: NIOSSLContext?
    let handshakeTimeout: Duration
    let idleTimeout: Duration
    let connections: OpenConnections

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        fileprivate let negotiated: EventLoopFuture<Negotiated>
    }

    fileprivate enum Negotiated: Sendable {
        case http1(HTTP1Channel.Value)
        case http2(HTTP2Channel.Value)
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        connections.add(channel)
        do {
            try Self.bound(channel)
            guard let tls else {
                return setUpHTTP1(channel, logger).map { [eventLoop = channel.eventLoop] http1 in
                    Value(channel: channel, negotiated: eventLoop.makeSucceededFuture(http1))
                }
            }
            let negotiation = NIOTypedApplicationProtocolNegotiationHandler<Negotiated> { result, channel in
                if case .negotiated("h2") = result { setUpHTTP2(channel, logger) } else { setUpHTTP1(channel, logger) }
            }
            try channel.pipeline.syncOperations.addHandlers(
                NIOSSLServerHandler(context: tls), HandshakeDeadline(TimeAmount(handshakeTimeout)), negotiation)
            return channel.eventLoop.makeSucceededFuture(
                Value(channel: channel, negotiated: negotiation.protocolNegotiationResult))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            switch try await value.negotiated.get() {
            case .http1(let value): await http1.handle(value: value, logger: logger)
            case .http2(let value): await http2.handle(value: value, logger: logger)
            }
        } catch {
            logger.trace("a connection ended before its first request", metadata: ["error": "\(error)"])
        }
    }

    /// Limits the buffers of the socket: few unsent bytes, so that progress shows in small steps, and at most one
    /// socket read per `read()`, so that a slow reader is noticed early.
    private static func bound(_ channel: any Channel) throws {
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
        try channel.syncOptions?.setOption(
            ChannelOptions.tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)),
            value: .init(SyncServerLimits.unsentBytes))
        try channel.pipeline.syncOperations.addHandler(SlowReaderGuard())
    }

    private func setUpHTTP1(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<Negotiated> {
        let gate = RequestGate(
            activity: .init(
                requestBegan: { [connections] in connections.requestBegan(channel) },
                requestEnded: { [connections] in connections.requestEnded(channel) }))
        do {
            try channel.pipeline.syncOperations.addHandler(RequestPacer(gate))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return http1.setup(channel: channel, logger: logger).assumeIsolated().flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPRequestDecoder>.self)
            try pipeline.addHandler(gate, position: .after(parser))
            return .http1(value)
        }.nonisolated()
    }

    private func setUpHTTP2(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<Negotiated> {
        let http2Guard = HTTP2Guard(
            idle: TimeAmount(idleTimeout),
            activity: .init(
                requestBegan: { [connections] in connections.requestBegan(channel) },
                requestEnded: { [connections] in connections.requestEnded(channel) },
                isUnauthenticated: { [connections] in connections.isUnauthenticated(channel) }))
        do {
            try channel.pipeline.syncOperations.addHandler(http2Guard)
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
        return http2.setup(channel: channel, logger: logger).map { .http2($0) }
    }
}
