import NIOCore

/// Counts an HTTP/2 stream for its connection, and resets the stream when its peer reads the response too slowly.
///
/// Unsent bytes may wait in the stream because the peer's flow-control window is closed. `SlowReaderGuard`, which
/// watches the socket, does not see them.
final class StreamGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = NIOAny
    typealias OutboundIn = NIOAny
    typealias OutboundOut = NIOAny

    private let watch: WriteWatch
    private var written = 0
    private var taken = 0
    private var connection: HTTP2Guard?

    init(_ allowance: WriteAllowance = WriteAllowance()) {
        watch = WriteWatch(allowance)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        connection = try? context.channel.parent?.pipeline.syncOperations.handler(type: HTTP2Guard.self)
        guard connection?.streamOpened() == false else { return }
        let channel = context.channel
        // Close it later, because the stream is not set up yet.
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
        if written == taken { watch.restartTimeout(context, taken: taken) }
        // Responses are written in pieces of this length. A shorter piece counts as a full one.
        written += SyncServerLimits.responseBytes
        let promise = promise ?? context.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { [self] _ in taken += SyncServerLimits.responseBytes }
        context.write(data, promise: promise)
    }

    func flush(context: ChannelHandlerContext) {
        context.flush()
        watch.startWatching(context) { [self] in (taken: taken, waiting: written - taken) }
    }

    private func end() {
        watch.stop()
        connection?.streamClosed()
        connection = nil
    }
}
