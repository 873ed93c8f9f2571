public import AuthorityStoreSQLite
public import SyncAuthority
import SyncSimulation
public import SyncStoreSQLite

/// How the parts on SQLite are set up.
public struct SQLiteParts: Sendable {
    public var authority = AuthorityPolicy()
    public var serverDurability = SQLiteAuthorityConfiguration.Durability.full
    public var storeDurability = StoreConfiguration.Durability.full
    public var limits = SQLiteParts.smallLimits

    public init() {}

    /// Such that a world of some hundred steps can reach them.
    public static let smallLimits: StoreLimits = {
        var limits = StoreLimits()
        limits.outboxEntries = 150
        limits.outboxBytes = 60_000
        limits.checkpointPages = 60
        return limits
    }()

    /// What follows from these limits for a device at rest: the log has the pages after which it is written back, and
    /// those of the largest transaction after that.
    static let bounds = ReplicaBounds(
        outboxEntries: smallLimits.outboxEntries, outboxBytes: smallLimits.outboxBytes,
        logBytes: (smallLimits.checkpointPages + 400) * 4_120)
}
