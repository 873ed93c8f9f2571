import NIOCore

/// Closes a connection whose peer does not take what waits for it. Stands next to the socket.
final class SlowReaderGuard: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var allowance: WriteAllowance
    private var written = 0
    private var timer: Scheduled<Void>?

    init(_ allowance: WriteAllowance = WriteAllowance()) {
        self.allowance = allowance
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The peer may have taken all since the last look: what waits from now on has all the time.
        if timer != nil, waiting(context) == 0 {
            _ = allowance.looked(taken: written, waiting: 0, now: context.eventLoop.now)
        }
        written += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if timer == nil { look(context) }
    }

    /// The bytes that the system has not taken; nil when the channel is closed.
    private func waiting(_ context: ChannelHandlerContext) -> Int? {
        try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
    }

    private func look(_ context: ChannelHandlerContext) {
        guard let waiting = waiting(context) else { return }
        switch allowance.looked(taken: written - waiting, waiting: waiting, now: context.eventLoop.now) {
        case .rest: break
        case .wait(let deadline):
            timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
                timer = nil
                look(context)
            }
        case .cut: context.close(promise: nil)
        }
    }
}
