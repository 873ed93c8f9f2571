import NIOCore

/// Watches one connection of HTTP/2: it has to bring a request soon, and it may not stay long without one.
///
/// Whoever has shown no good token yet gets few streams at a time: each takes as much memory as a connection. Frames that
/// cost more than they bring (resets, pings, settings, empty ones) are counted and bounded by NIO.
final class HTTP2Guard: ChannelInboundHandler {
    typealias InboundIn = NIOAny

    /// Counters of a connection.
    struct Activity {
        var requestBegan: () -> Void = {}
        var requestEnded: () -> Void = {}
        var isStranger: () -> Bool = { true }
    }

    private let idle: TimeAmount
    private let headDeadline = TimeAmount(SyncServerLimits.headDeadline)
    private let activity: Activity
    private var streams = 0
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?

    /// - Parameter idle: how long a member's connection may be without a stream before it is told to go; it is cut some time
    ///   later. A stranger's has the time of a head.
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

    /// - Returns: whether there is room for the stream.
    func streamOpened() -> Bool {
        timer?.cancel()
        streams += 1
        activity.requestBegan()
        return streams <= SyncServerLimits.streamsOfStranger || !activity.isStranger()
    }

    func streamClosed() {
        streams -= 1
        activity.requestEnded()
        guard streams == 0 else { return }
        cut(in: (activity.isStranger() ? headDeadline : idle) + TimeAmount(SyncServerLimits.closeDelay))
    }

    private func cut(in delay: TimeAmount) {
        guard let context else { return }
        timer?.cancel()
        let channel = context.channel
        timer = context.eventLoop.scheduleTask(in: delay) { OpenConnections.cut(channel) }
    }
}
