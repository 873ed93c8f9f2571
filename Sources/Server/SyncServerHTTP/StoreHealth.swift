import NIOCore
import SyncConcurrency

/// Checks whether the store can be used, at most once per `SyncServerLimits.healthInterval`, however many clients ask.
///
/// The usual check reads a few pages, and finds no damage elsewhere in the database. After a call has found damage, the
/// store counts as damaged for `SyncServerLimits.damageInterval`, and then until a check of the whole store finds none.
/// Such a check may take minutes, so only one runs at a time, and the interval begins again when it has found damage.
final class StoreHealth: Sendable {
    private let now: @Sendable () -> NIODeadline
    private let check: @Sendable (_ extent: Extent) -> EventLoopFuture<Void>
    private let condition = Guarded(Condition.sound(newest: nil))

    enum Extent {
        case state, wholeStore
    }

    /// A call has found damage in the store.
    struct DamageFound: Error {}

    /// The store has not answered within `SyncServerLimits.healthTimeout`.
    struct Silent: Error {}

    /// The store can be read, but takes no writes.
    enum NoWrites: String, Error {
        /// Its disk has too little room.
        case disk
        /// Its database refuses them, or is a standby.
        case readOnly = "read_only"
    }

    private enum Condition: Sendable {
        /// No damage is known.
        case sound(newest: Check?)
        /// A call or a check has found damage at this time.
        case damaged(since: NIODeadline)
        /// A check of the whole store is in progress.
        case examined
        /// A call has found damage while a check of the whole store is in progress.
        case damagedWhileExamined
    }

    private struct Check: Sendable {
        let began: NIODeadline
        let result: EventLoopFuture<Void>
    }

    /// Creates a check.
    ///
    /// - Parameter check: reads from the store; its future fails when the read fails or finds damage, and with
    ///   `NoWrites`.
    init(
        now: @escaping @Sendable () -> NIODeadline = { .now() },
        check: @escaping @Sendable (_ extent: Extent) -> EventLoopFuture<Void>
    ) {
        self.now = now
        self.check = check
    }

    /// Notes that a call has found damage.
    func damageFound() {
        let now = now()
        condition.withLock { condition in
            switch condition {
            case .sound, .damaged: condition = .damaged(since: now)
            case .examined, .damagedWhileExamined: condition = .damagedWhileExamined
            }
        }
    }

    /// Waits for the latest check. All calls within the interval after its beginning share it.
    ///
    /// - Throws: the error of the check except `NoWrites`, or `DamageFound`.
    func check() async throws {
        do { try await checkForWrites() } catch is NoWrites {}
    }

    /// Waits for the latest check, as `check` does.
    ///
    /// - Throws: the error of the check, or `DamageFound`.
    func checkForWrites() async throws {
        let now = now()
        let usual: EventLoopFuture<Void>? = try condition.withLock { [check] condition in
            switch condition {
            case .sound(let newest?) where now < newest.began + TimeAmount(SyncServerLimits.healthInterval):
                return newest.result
            case .sound:
                let result = Self.inTime(check(.state))
                condition = .sound(newest: Check(began: now, result: result))
                return result
            case .damaged(let since) where now >= since + TimeAmount(SyncServerLimits.damageInterval):
                condition = .examined
                return nil
            case .damaged, .examined, .damagedWhileExamined: throw DamageFound()
            }
        }
        if let usual { return try await usual.get() }
        try await Self.inTime(check(.wholeStore).always { [self] in examined($0) }).get()
        if case .damaged = condition.withLock({ $0 }) { throw DamageFound() }
    }

    /// Notes the result of a check of the whole store.
    private func examined(_ result: Result<Void, any Error>) {
        let now = now()
        condition.withLock { condition in
            if case .success = result, case .examined = condition {
                condition = .sound(newest: nil)
            } else {
                condition = .damaged(since: now)
            }
        }
    }

    /// Returns a future with the result of a check, or with `Silent` after the timeout. The check itself continues.
    private static func inTime(_ result: EventLoopFuture<Void>) -> EventLoopFuture<Void> {
        let answer = result.eventLoop.makePromise(of: Void.self)
        let timeout = result.eventLoop.scheduleTask(in: TimeAmount(SyncServerLimits.healthTimeout)) {
            answer.fail(Silent())
        }
        result.whenComplete { result in
            timeout.cancel()
            answer.completeWith(result)
        }
        return answer.futureResult
    }
}
