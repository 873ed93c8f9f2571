import AuthorityStoreSQLite
public import SyncAuthority
public import SyncModel
import SyncSimulation
public import SyncStoreSQLite

/// How the parts on SQLite are set up.
public struct SQLiteParts: Sendable {
    public var authority = SQLiteParts.smallPolicy
    public var serverDurability = Durability.full
    public var storeDurability = Durability.full
    public var limits = SQLiteParts.smallLimits

    public init() {}

    /// Such that a world of some hundred steps can reach them.
    public static let smallLimits: StoreLimits = {
        var limits = StoreLimits()
        limits.outboxEntries = 150
        limits.outboxBytes = 60_000
        limits.journalEntries = 8
        limits.checkpointPages = 60
        return limits
    }()

    /// Such that pages are now full of rows and now of bytes, and that a batch is now the device's and now the server's to
    /// bound.
    public static let smallPolicy = AuthorityPolicy(
        limits: ServerLimits(pushBytes: 16_000, pushTransactions: 30, pageRows: 30), pageBytes: 1_500,
        access: AccessRules([AccessRules.Rule(principals: .everyone, spaces: .all, access: .readAndWrite)]))

    static let messageBounds = MessageBounds(
        pageRows: smallPolicy.limits.pageRows, pageBytes: smallPolicy.pageBytes,
        pushTransactions: smallPolicy.limits.pushTransactions, pushBytes: smallPolicy.limits.pushBytes)

    /// The bounds that follow from these limits for a device at rest: the log has the pages after which it is written back, and
    /// those of the largest transaction after that.
    static let bounds = ReplicaBounds(
        outboxEntries: smallLimits.outboxEntries, outboxBytes: smallLimits.outboxBytes,
        journalEntries: smallLimits.journalEntries,
        logBytes: (smallLimits.checkpointPages + 400) * 4_120)
}
