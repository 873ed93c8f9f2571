import NIOCore

/// Closes a connection whose peer reads its responses too slowly. It is placed next to the socket.
final class SlowReaderGuard: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private var allowance: WriteAllowance
    private var written = 0
    /// The next check; nil when none is scheduled.
    private var timer: Scheduled<Void>?

    init(_ allowance: WriteAllowance = WriteAllowance()) {
        self.allowance = allowance
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if timer != nil, waiting(context) == 0 {
            // The peer has taken everything, so bytes that wait from now on get the whole timeout.
            _ = allowance.update(taken: written, waiting: 0, now: context.eventLoop.now)
        }
        written += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if timer == nil { check(context) }
    }

    private func check(_ context: ChannelHandlerContext) {
        guard let waiting = waiting(context) else { return }
        switch allowance.update(taken: written - waiting, waiting: waiting, now: context.eventLoop.now) {
        case .rest: break
        case .wait(let deadline):
            timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
                timer = nil
                check(context)
            }
        case .close: context.close(promise: nil)
        }
    }

    /// Returns the number of bytes that the system has not taken; nil when the channel is closed.
    private func waiting(_ context: ChannelHandlerContext) -> Int? {
        try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
    }
}
