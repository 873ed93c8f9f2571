import NIOCore
import SyncConcurrency

/// Checks whether the store responds, at most once per `SyncServerLimits.healthInterval`, however many clients ask.
final class StoreHealth: Sendable {
    private let now: @Sendable () -> NIODeadline
    private let look: @Sendable () -> EventLoopFuture<Void>
    private let newest = Guarded<Look?>(nil)

    private struct Look {
        let began: NIODeadline
        let result: EventLoopFuture<Void>
    }

    /// Creates a check.
    ///
    /// - Parameter look: reads from the store; its future fails when the read fails.
    init(now: @escaping @Sendable () -> NIODeadline = { .now() }, look: @escaping @Sendable () -> EventLoopFuture<Void>)
    {
        self.now = now
        self.look = look
    }

    /// Waits for the latest check. All calls within `SyncServerLimits.healthInterval` of its beginning share it.
    ///
    /// - Throws: the error of the check.
    func check() async throws {
        let now = now()
        let result = newest.withLock { [look] newest in
            if let newest, now < newest.began + TimeAmount(SyncServerLimits.healthInterval) { return newest.result }
            let result = look()
            newest = Look(began: now, result: result)
            return result
        }
        try await result.get()
    }
}
