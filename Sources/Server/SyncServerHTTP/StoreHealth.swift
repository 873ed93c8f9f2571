import NIOCore
import SyncConcurrency

/// Checks whether the store can be used, at most once per `SyncServerLimits.healthInterval`, however many clients ask.
///
/// The usual check reads a few pages, and finds no damage elsewhere in the database. After a call has found damage, the
/// store counts as damaged for `SyncServerLimits.damageInterval`, and then until a check of the whole store finds none.
final class StoreHealth: Sendable {
    private let now: @Sendable () -> NIODeadline
    private let check: @Sendable (_ extent: Extent) -> EventLoopFuture<Void>
    private let state = Guarded(State())

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

    private struct State: Sendable {
        var newest: Check?
        /// The time at which a call last found damage; nil if the store counts as sound.
        var damagedAt: NIODeadline?
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
        state.withLock { state in
            state.newest = nil
            state.damagedAt = now
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
        let (result, repaired): (EventLoopFuture<Void>, NIODeadline?) = try state.withLock { [check] state in
            let damagedAt = state.damagedAt
            let interval = TimeAmount(
                damagedAt == nil ? SyncServerLimits.healthInterval : SyncServerLimits.damageInterval)
            if let damagedAt, now < damagedAt + interval { throw DamageFound() }
            if let newest = state.newest, now < newest.began + interval { return (newest.result, damagedAt) }
            let result = damagedAt == nil ? Self.inTime(check(.state)) : check(.wholeStore)
            state.newest = Check(began: now, result: result)
            return (result, damagedAt)
        }
        try await result.get()
        guard let repaired else { return }
        try state.withLock { state in
            // Another call may have found damage during the check.
            if state.damagedAt == repaired { state = State() }
            if state.damagedAt != nil { throw DamageFound() }
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
