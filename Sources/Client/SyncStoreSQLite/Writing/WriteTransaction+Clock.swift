import SQLiteDatabase
import SyncCore
import SyncModel

// The device's hybrid clock, and the times of its transactions (I22).
extension WriteTransaction {
    /// Corrects the hybrid clock and the times of outbox entries after the device's wall clock was ahead and has been
    /// set right.
    ///
    /// The server orders edits by their ages, which are computed from the times of the entries. Only times in the
    /// future are changed. If the clock was ahead at the last contact with the server, its lead is subtracted from
    /// these times. A time that is then still in the future becomes the current time, because an entry cannot have been
    /// written later. If no lead is known, every time in the future becomes the current time.
    func correctClock(now: WallTime) throws {
        guard meta.clock.correct(now: now, permitting: SchemaLimits.permittedSkew) else { return }
        let statement = try connection.statement(
            "UPDATE sync_outbox SET written_at = iif(?2 < 0, min(written_at + ?2, ?1), ?1) WHERE written_at > ?1")
        statement.bind(1, now.milliseconds)
        statement.bind(2, meta.clockOffset ?? 0)
        try statement.run()
    }

    /// Advances the hybrid clock to the server's time, within the permitted skew, and records how far the server's wall
    /// clock is ahead of the device's.
    func observe(_ serverTime: HybridTime, now: WallTime) throws {
        try correctClock(now: now)
        meta.clock.observe(serverTime, now: now, permitting: SchemaLimits.permittedSkew)
        guard serverTime > .zero else { return }
        let offset = Meta.clampedOffset(
            serverTime.lead(over: now, known: meta.clockOffset, permitting: SchemaLimits.permittedSkew))
        // A difference below one second may be network delay, and is not worth a write.
        if let known = meta.clockOffset, abs(known - offset) < 1_000 { return }
        meta.clockOffset = offset
    }
}
