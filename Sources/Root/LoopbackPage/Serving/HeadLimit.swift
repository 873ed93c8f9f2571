import NIOCore

/// Closes a connection whose request head is too long.
///
/// The parser bounds the fields, but not the target of the request, which it keeps until its end.
final class HeadLimit: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var received = 0
    private var lastBytes: [UInt8] = []
    private var isOver = false

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !isOver {
            let buffer = unwrapInboundIn(data)
            let bytes = lastBytes + buffer.readableBytesView
            isOver = Self.containsEnd(bytes)
            lastBytes = Array(bytes.suffix(3))
            received += buffer.readableBytes
            guard isOver || received <= PageLimits.headerBytes * 2 else {
                context.close(promise: nil)
                return
            }
        }
        context.fireChannelRead(data)
    }

    /// Returns whether the head ends here: at an empty line.
    private static func containsEnd(_ bytes: [UInt8]) -> Bool {
        let end = Array("\r\n\r\n".utf8)
        guard bytes.count >= end.count else { return false }
        return (0...(bytes.count - end.count)).contains { bytes[$0..<($0 + end.count)].elementsEqual(end) }
    }
}
