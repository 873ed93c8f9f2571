import NIOCore

/// Gives the parser the bytes of one request at a time, in slices. Stands before the parser.
///
/// The parser hands on whatever it is given as requests, each of which takes far more memory than its bytes.
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

    /// For tests: the bytes that wait for a response.
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
        // More than the system was asked for comes only from a peer that has closed its side.
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
        // The end of what a peer sends comes behind what it sent.
        if case .inputClosed? = event as? ChannelEvent, held.readableBytes > 0, !gate.isClosing {
            heldEvent = .inputClosed
            return
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func readIfWanted(_ context: ChannelHandlerContext) {
        // A connection that closes goes on reading, so that it learns when the peer has gone.
        guard hasPendingRead, gate.isClosing || (gate.takesBytes && held.readableBytes == 0) else { return }
        hasPendingRead = false
        context.read()
    }

    /// - Returns: false when it is at work already, further up the stack.
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
