import NIOCore
import SyncConcurrency

/// Checks whether the store responds, at most once per `SyncServerLimits.healthInterval`, however many clients ask.
final class StoreHealth: Sendable {
    private let now: @Sendable () -> NIODeadline
    private let check: @Sendable () -> EventLoopFuture<Void>
    private let newest = Guarded<Check?>(nil)

    private struct Check {
        let began: NIODeadline
        let result: EventLoopFuture<Void>
    }

    /// Creates a check.
    ///
    /// - Parameter check: reads from the store; its future fails when the read fails.
    init(
        now: @escaping @Sendable () -> NIODeadline = { .now() }, check: @escaping @Sendable () -> EventLoopFuture<Void>
    ) {
        self.now = now
        self.check = check
    }

    /// Waits for the latest check. All calls within `SyncServerLimits.healthInterval` of its beginning share it.
    ///
    /// - Throws: the error of the check.
    func check() async throws {
        let now = now()
        let result = newest.withLock { [check] newest in
            if let newest, now < newest.began + TimeAmount(SyncServerLimits.healthInterval) { return newest.result }
            let result = check()
            newest = Check(began: now, result: result)
            return result
        }
        try await result.get()
    }
}
