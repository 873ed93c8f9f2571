import NIOCore

/// Watches one stream of HTTP/2: its connection counts it, and it is reset when its peer does not take what waits for it.
///
/// What waits may lie in the stream, because the peer's window is closed, and not in the socket, where `SlowReaderGuard`
/// would see it.
final class StreamGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny
    typealias OutboundOut = NIOAny

    private var allowance: WriteAllowance
    private var written = 0
    private var taken = 0
    private var timer: Scheduled<Void>?
    private var connection: HTTP2Guard?

    init(_ allowance: WriteAllowance = WriteAllowance()) {
        self.allowance = allowance
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = try? context.channel.parent?.pipeline.syncOperations.handler(type: HTTP2Guard.self)
        guard connection?.streamOpened() == false else { return }
        let channel = context.channel
        // The stream is not set up yet.
        context.eventLoop.execute { channel.close(promise: nil) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if written == taken { _ = allowance.looked(taken: taken, waiting: 0, now: context.eventLoop.now) }
        // Responses are written in pieces of this length; a shorter one counts as much.
        written += SyncServerLimits.responseBytes
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in taken += SyncServerLimits.responseBytes }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        if timer == nil { look(context) }
    }

    private func look(_ context: ChannelHandlerContext) {
        switch allowance.looked(taken: taken, waiting: written - taken, now: context.eventLoop.now) {
        case .rest: break
        case .wait(let deadline):
            timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
                timer = nil
                look(context)
            }
        case .cut: context.close(promise: nil)
        }
    }

    private func end() {
        timer?.cancel()
        connection?.streamClosed()
        connection = nil
    }
}
