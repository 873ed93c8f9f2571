import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Ends a connection whose response has a status below 100. It is placed after the parser.
///
/// Such a status is not HTTP (RFC 9110 §15), but the parsers accept it. AsyncHTTPClient 1.37 takes the head for an
/// interim response, and traps at the end of the body.
final class ResponseStatusGuard: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias InboundOut = HTTPClientResponsePart

    private var hasFailed = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !hasFailed else { return }
        if case .head(let head) = unwrapInboundIn(data), head.status.code < 100 {
            hasFailed = true
            context.fireErrorCaught(HTTPParserError.invalidStatus)
            context.close(promise: nil)
            return
        }
        context.fireChannelRead(data)
    }

    /// Adds a guard to each connection of a client, before the connection's first request is written.
    static func install(in settings: inout HTTPClient.Configuration) {
        settings.http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                let parser = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
                try pipeline.addHandler(ResponseStatusGuard(), position: .after(parser))
            }
        }
    }
}
