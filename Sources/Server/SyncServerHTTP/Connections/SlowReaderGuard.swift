import NIOCore

/// Closes a connection whose peer reads its responses too slowly. It is placed next to the socket.
final class SlowReaderGuard: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    typealias OutboundOut = IOData

    private let watch: WriteWatch
    private var written = 0

    init(_ allowance: WriteAllowance = WriteAllowance()) {
        watch = WriteWatch(allowance)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        watch.stop()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if watch.isWaiting, waiting(context) == 0 { watch.restartTimeout(context, taken: written) }
        written += unwrapOutboundIn(data).readableBytes
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        watch.startWatching(context) { [self] in
            waiting(context).map { (taken: written - $0, waiting: $0) }
        }
    }

    /// Returns the number of bytes that the system has not taken; nil when the channel is closed.
    private func waiting(_ context: ChannelHandlerContext) -> Int? {
        try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)
    }
}
