import SyncCore
import SyncModel

// The device's hybrid clock, and when its transactions can have been written (I22).
extension WriteTransaction {
    /// Sets the clock right when the device's wall clock has been ahead and is not any more.
    ///
    /// Corrects a clock that is ahead, and the times of outbox entries that lie in the future: the server orders edits by their
    /// ages, which are reckoned from these times.
    func healClock(now: WallTime) throws(StoreFailure) {
        guard meta.clock.heal(now: now, permitting: SchemaLimits.permittedSkew) else { return }
        let statement = try connection.statement("UPDATE sync_outbox SET written_at = ?1 WHERE written_at > ?1")
        statement.bind(1, now.milliseconds)
        try statement.run()
    }

    /// Lets the clock hear of the server's, and notes how far the two walls are apart.
    func hear(_ serverTime: HybridTime, now: WallTime) throws(StoreFailure) {
        try healClock(now: now)
        meta.clock.observe(serverTime, now: now, permitting: SchemaLimits.permittedSkew)
        guard serverTime > .zero else { return }
        let offset = serverTime.wall.milliseconds - now.milliseconds
        // Less is the time that the response was on its way, and not worth a write.
        if let known = meta.clockOffset, abs(known - offset) < 1_000 { return }
        meta.clockOffset = offset
    }
}
