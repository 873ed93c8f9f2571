import NIOCore

/// Closes an HTTP/2 connection that does not open a stream in time, or that has been without one for too long.
///
/// A connection without a valid token may open only few streams at a time, because each stream takes as much memory as
/// a connection. NIO counts and limits frames that cost more than they carry (resets, pings, settings, empty frames).
final class HTTP2Guard: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    /// The callbacks that report the requests of a connection.
    struct Activity {
        var requestBegan: () -> Void = {}
        var requestEnded: () -> Void = {}
        var isUnauthenticated: () -> Bool = { true }
    }

    private let idle: TimeAmount
    private let headDeadline = TimeAmount(SyncServerLimits.headDeadline)
    private let activity: Activity
    private var streams = 0
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    /// Creates a guard.
    ///
    /// - Parameter idle: the time that an authenticated connection may be without a stream. It is then asked to close,
    ///   and is cut `closeDelay` later. An unauthenticated connection has `headDeadline` instead.
    init(idle: TimeAmount, activity: Activity = Activity()) {
        self.idle = idle
        self.activity = activity
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        cut(in: headDeadline)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        timer?.cancel()
        self.context = nil
    }

    /// Notes that a stream was opened.
    ///
    /// - Returns: whether the connection may have the stream.
    func streamOpened() -> Bool {
        timer?.cancel()
        streams += 1
        activity.requestBegan()
        return streams <= SyncServerLimits.streamsOfUnauthenticated || !activity.isUnauthenticated()
    }

    func streamClosed() {
        streams -= 1
        activity.requestEnded()
        guard streams == 0 else { return }
        cut(in: (activity.isUnauthenticated() ? headDeadline : idle) + TimeAmount(SyncServerLimits.closeDelay))
    }

    private func cut(in delay: TimeAmount) {
        guard let context else { return }
        timer?.cancel()
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: delay) { OpenConnections.cut(channel) }
    }
}
