import NIOCore
import SyncConcurrency

/// The time that a client has to send a request body.
///
/// The client has `timeout` from the moment at which the server begins to read. Every `slowest` bytes that arrive add a
/// second.
struct BodyAllowance: Hashable, Sendable {
    private let timeout: Duration
    private let slowest: Int
    private let began: NIODeadline
    private(set) var received = 0

    init(timeout: Duration, slowest: Int = SyncServerLimits.slowestBody, now: NIODeadline) {
        self.timeout = timeout
        self.slowest = slowest
        began = now
    }

    /// The time allowed for the bytes that have arrived.
    var allowed: Duration { timeout + .seconds(received / slowest) }

    var deadline: NIODeadline { began + TimeAmount(allowed) }

    func isExpired(now: NIODeadline) -> Bool { now >= deadline }

    /// Counts bytes that have arrived.
    ///
    /// - Returns: whether the bytes, together with those before them, arrived in time.
    mutating func arrived(_ bytes: Int, now: NIODeadline) -> Bool {
        received += bytes
        return !isExpired(now: now)
    }
}

/// The timer of one request body, which expires even if no byte arrives.
final class BodyTimer: Sendable {
    private struct State {
        var allowance: BodyAllowance
        var scheduled: Scheduled<Void>?
        var isOver = false
    }

    private let loop: any EventLoop
    private let end: EventLoopPromise<Bool>
    private let state: Guarded<State>

    init(_ allowance: BodyAllowance, on loop: any EventLoop) {
        self.loop = loop
        end = loop.makePromise(of: Bool.self)
        state = Guarded(State(allowance: allowance))
        schedule(at: allowance.deadline)
    }

    /// The allowance, with the bytes that have arrived so far.
    var allowance: BodyAllowance { state.withLock { $0.allowance } }

    /// Counts bytes that have arrived. Returns whether they arrived in time.
    func arrived(_ bytes: Int) -> Bool {
        state.withLock { $0.allowance.arrived(bytes, now: .now()) }
    }

    /// Waits until the time has run out or `stop()` is called. Returns whether the time has run out.
    func expires() async throws -> Bool { try await end.futureResult.get() }

    func stop() {
        guard let scheduled = finish() else { return }
        scheduled.cancel()
        end.succeed(false)
    }

    private func schedule(at deadline: NIODeadline) {
        let task = loop.scheduleTask(deadline: deadline) { [weak self] () -> Void in self?.timePassed() }
        let isOver = state.withLock { state in
            state.scheduled = task
            return state.isOver
        }
        if isOver { task.cancel() }
    }

    private func timePassed() {
        let allowance = allowance
        guard allowance.isExpired(now: .now()) else { return schedule(at: allowance.deadline) }
        if finish() != nil { end.succeed(true) }
    }

    /// Returns the scheduled task on the first call, and nil afterwards.
    private func finish() -> Scheduled<Void>? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            return state.scheduled
        }
    }
}
