import NIOCore
import SyncConcurrency

/// Whether the store answers, looked at no more than once in a while, however many ask.
final class StoreHealth: Sendable {
    private let now: @Sendable () -> NIODeadline
    private let look: @Sendable () -> EventLoopFuture<Void>
    private let newest = Guarded<Look?>(nil)

    private struct Look {
        let began: NIODeadline
        let result: EventLoopFuture<Void>
    }

    /// - Parameter look: reads from the store, and fails when that fails.
    init(now: @escaping @Sendable () -> NIODeadline = { .now() }, look: @escaping @Sendable () -> EventLoopFuture<Void>)
    {
        self.now = now
        self.look = look
    }

    /// Waits for the newest look, which all those share who ask within `SyncServerLimits.healthInterval` of its beginning.
    ///
    /// - Throws: what the look has failed with.
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
