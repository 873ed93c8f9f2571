import AuthorityStoreSQLite
public import SyncAuthority
public import SyncModel
import SyncSimulation
public import SyncStoreSQLite

/// The configuration of the SQLite-based parts.
public struct SQLiteParts: Sendable {
    public var authority = SQLiteParts.smallPolicy
    public var serverDurability = Durability.full
    public var storeDurability = Durability.full
    public var limits = SQLiteParts.smallLimits

    public init() {}

    /// Limits that a world of a few hundred steps can reach.
    public static let smallLimits: StoreLimits = {
        var limits = StoreLimits()
        limits.outboxEntries = 150
        limits.outboxBytes = 60_000
        limits.journalEntries = 8
        limits.checkpointPages = 60
        return limits
    }()

    /// A policy with limits so small that some pages are full by rows and others by bytes, and that some batches end at
    /// a limit of the device and others at a limit of the server.
    public static let smallPolicy = AuthorityPolicy(
        limits: ServerLimits(pushBytes: 16_000, pushTransactions: 30, pageRows: 30), pageBytes: 1_500,
        access: AccessRules([AccessRules.Rule(principals: .everyone, spaces: .all, access: .readAndWrite)]))

    static let messageBounds = MessageBounds(
        pageRows: smallPolicy.limits.pageRows, pageBytes: smallPolicy.pageBytes,
        pushTransactions: smallPolicy.limits.pushTransactions, pushBytes: smallPolicy.limits.pushBytes)

    /// The bounds that follow from `smallLimits`. At rest, the WAL holds at most the pages after which it is
    /// checkpointed, plus those of the largest transaction.
    static let bounds = ReplicaBounds(
        outboxEntries: smallLimits.outboxEntries, outboxBytes: smallLimits.outboxBytes,
        journalEntries: smallLimits.journalEntries,
        walBytes: (smallLimits.checkpointPages + 400) * 4_120)
}
