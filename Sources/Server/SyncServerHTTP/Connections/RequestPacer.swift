import NIOCore

/// Passes the bytes of one request at a time to the parser, in slices. It is placed before the parser.
///
/// The parser turns all the bytes that it gets into requests, each of which takes far more memory than its bytes.
final class RequestPacer: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let gate: RequestGate
    private var held = ByteBuffer()
    private var isForwarding = false
    private var hasPendingRead = false
    private var heldEvent: ChannelEvent?

    init(_ gate: RequestGate) {
        self.gate = gate
    }

    /// The number of bytes that wait for a response. For tests.
    var heldBytes: Int { held.readableBytes }

    func handlerAdded(context: ChannelHandlerContext) {
        gate.resume = { [self] in
            guard forward(context) else { return }
            context.fireChannelReadComplete()
            readIfWanted(context)
        }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !gate.isClosing else { return }
        var bytes = unwrapInboundIn(data)
        if held.readableBytes == 0 { held = bytes } else { held.writeBuffer(&bytes) }
        // A read stays far below this limit. Only when the peer closes its side are all remaining bytes read unasked.
        guard held.readableBytes <= SyncServerLimits.heldBytes else { return context.close(promise: nil) }
        forward(context)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.fireChannelReadComplete()
        readIfWanted(context)
    }

    func read(context: ChannelHandlerContext) {
        hasPendingRead = true
        readIfWanted(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        // The end of input must follow the bytes that are still held.
        if case .inputClosed? = event as? ChannelEvent, held.readableBytes > 0, !gate.isClosing {
            heldEvent = .inputClosed
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func readIfWanted(_ context: ChannelHandlerContext) {
        // A connection that is closing continues to read, so that it notices when the peer has gone.
        guard hasPendingRead, gate.isClosing || (gate.takesBytes && held.readableBytes == 0) else { return }
        hasPendingRead = false
        context.read()
    }

    /// Forwards held bytes while the gate accepts them.
    ///
    /// - Returns: false when a call further up the stack is already forwarding.
    @discardableResult
    private func forward(_ context: ChannelHandlerContext) -> Bool {
        guard !isForwarding else { return false }
        isForwarding = true
        defer { isForwarding = false }
        while gate.takesBytes, !gate.isClosing {
            guard let slice = held.readSlice(length: min(held.readableBytes, SyncServerLimits.parsedBytes)),
                slice.readableBytes > 0
            else { break }
            gate.bytesArrived()
            context.fireChannelRead(wrapInboundOut(slice))
        }
        if held.readableBytes == 0 || gate.isClosing { held = ByteBuffer() }
        if held.readableBytes == 0, let event = heldEvent {
            heldEvent = nil
            context.fireUserInboundEventTriggered(event)
        }
        return true
    }
}
