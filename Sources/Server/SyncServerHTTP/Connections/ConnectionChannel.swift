import Glibc
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import NIOTLS

/// Sets up a connection with HTTP/1.1, after TLS if it is configured, and with the handlers that bound its use of
/// resources.
///
///     socket ─ SlowReaderGuard ─ [TLS ─ HandshakeDeadline] ─ RequestPacer ─ parser ─ RequestGate ─ routes
struct ConnectionChannel: ServerChildChannel {
    let http1: HTTP1Channel
    /// The TLS context; nil for plain HTTP.
    let tls: NIOSSLContext?
    let handshakeTimeout: Duration
    let connections: OpenConnections

    struct Value: ServerChildChannelValue {
        let channel: any Channel
        /// The connection, once the TLS handshake is over.
        fileprivate let http1: EventLoopFuture<HTTP1Channel.Value>
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        connections.add(channel)
        do {
            try Self.limitBuffers(channel)
            guard let tls else {
                return setUpHTTP1(channel, logger).map { [eventLoop = channel.eventLoop] http1 in
                    Value(channel: channel, http1: eventLoop.makeSucceededFuture(http1))
                }
            }
            let negotiation = NIOTypedApplicationProtocolNegotiationHandler<HTTP1Channel.Value> { _, channel in
                setUpHTTP1(channel, logger)
            }
            try channel.pipeline.syncOperations.addHandlers(
                NIOSSLServerHandler(context: tls), HandshakeDeadline(TimeAmount(handshakeTimeout)), negotiation)
            return channel.eventLoop.makeSucceededFuture(
                Value(channel: channel, http1: negotiation.protocolNegotiationResult))
        } catch {
            return channel.eventLoop.makeFailedFuture(error)
        }
    }

    func handle(value: Value, logger: Logger) async {
        do {
            await http1.handle(value: try await value.http1.get(), logger: logger)
        } catch {
            logger.trace("a connection ended before its first request", metadata: ["error": "\(error)"])
        }
    }

    /// Limits the buffers of the socket, and adds the guard against slow readers.
    ///
    /// Few bytes are unsent, so that the progress of a slow reader shows in small steps. At most one socket read is
    /// made per `read()`, so that few received bytes wait in memory.
    private static func limitBuffers(_ channel: any Channel) throws {
        try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
        try channel.syncOptions?.setOption(
            ChannelOptions.tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)),
            value: .init(SyncServerLimits.unsentBytes))
        try channel.pipeline.syncOperations.addHandler(SlowReaderGuard())
    }

    private func setUpHTTP1(_ channel: any Channel, _ logger: Logger) -> EventLoopFuture<HTTP1Channel.Value> {
        let gate = RequestGate(
            activity: .init(
                requestBegan: { [connections] in connections.requestBegan(channel) },
                requestArrived: { [connections] in connections.requestArrived(channel) },
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
            return value
        }.nonisolated()
    }
}

extension ConnectionChannel {
    /// Returns the builder of a server that sets up each connection with a `ConnectionChannel`.
    ///
    /// - Parameter tls: the TLS context; nil for plain HTTP.
    static func builder(
        _ configuration: SyncServerConfiguration, tls: NIOSSLContext?, connections: OpenConnections
    ) -> HTTPServerBuilder {
        let limits = HTTP1Channel.Configuration.DecoderConfiguration(
            maxHeaderFieldSize: SyncServerLimits.headerBytes, maxHeaderListSize: SyncServerLimits.headerBytes,
            maxHeaderFieldCount: SyncServerLimits.headerFields)
        return HTTPServerBuilder { responder in
            ConnectionChannel(
                http1: HTTP1Channel(
                    responder: responder,
                    configuration: .init(
                        idleTimeout: TimeAmount(configuration.idleTimeout), httpDecoderConfiguration: limits)),
                tls: tls, handshakeTimeout: configuration.handshakeTimeout, connections: connections)
        }
    }
}
