import NIOCore

/// Closes a channel whose peer takes the waiting bytes too slowly. It belongs to one handler, and is used only on its
/// event loop.
final class WriteWatch {
    /// The number of bytes that the peer has taken since the channel began, and the number that wait for it.
    typealias Progress = (taken: Int, waiting: Int)

    private var allowance: WriteAllowance
    private var timer: Scheduled<Void>?

    init(_ allowance: WriteAllowance) {
        self.allowance = allowance
    }

    /// Whether bytes were waiting at the last check.
    var isWaiting: Bool { timer != nil }

    /// Starts to watch the bytes that a flush left waiting, unless the watch is already running.
    ///
    /// - Parameter progress: measures the progress; returns nil when the channel is closed.
    func startWatching(_ context: ChannelHandlerContext, _ progress: @escaping () -> Progress?) {
        if timer == nil { check(context, progress) }
    }

    /// Restarts the timeout after the peer has taken everything, so that bytes that wait from now on get all of it.
    func restartTimeout(_ context: ChannelHandlerContext, taken: Int) {
        _ = allowance.update(taken: taken, waiting: 0, now: context.eventLoop.now)
    }

    func stop() {
        timer?.cancel()
    }

    private func check(_ context: ChannelHandlerContext, _ progress: @escaping () -> Progress?) {
        guard let (taken, waiting) = progress() else { return }
        switch allowance.update(taken: taken, waiting: waiting, now: context.eventLoop.now) {
        case .rest: break
        case .wait(let deadline):
            timer = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { [self] in
                timer = nil
                check(context, progress)
            }
        case .close: context.close(promise: nil)
        }
    }
}
