public import SyncModel

/// The result of salvaging a damaged database: the parts that were saved and the parts that were lost.
public struct SalvageReport: Hashable, Sendable {
    /// Path of the damaged database, kept unchanged.
    public let keptFile: String
    /// The identity that the new database has, and its relation to the former one.
    public let identity: Identity
    /// The owner of the database; nil when it could not be read or no server has been contacted yet.
    public let account: AccountID?
    /// Writes that the server has not confirmed and shown back.
    public let outbox: Count
    /// Number of records for which the journal offers the values of writes that could not be read.
    public let offered: Int
    /// Number of saved writes that were sent under an identity that could not be read. The server may already have
    /// them.
    public let perhapsSent: Int
    /// Entries of the journal, with the changes that a user may still restore.
    public let journal: Count
    /// The spaces that the device keeps in sync.
    public let spaces: Count
    /// Records that a server has shown. The next sync compares them with the server's, which may have lost some.
    public let records: Count
    /// Whether the device still knows which of the server's values it has written itself. If not, the device may not
    /// notice that a restored server has lost such a value, when others have changed the field since.
    public let knowsOwnVersions: Bool

    /// Creates a report. By default, there were no spaces and no former records.
    public init(
        keptFile: String, identity: Identity, account: AccountID?, outbox: Count, offered: Int = 0, perhapsSent: Int,
        journal: Count,
        spaces: Count = Count(saved: 0, lost: 0), records: Count = Count(saved: 0, lost: 0),
        knowsOwnVersions: Bool = true
    ) {
        self.keptFile = keptFile
        self.identity = identity
        self.account = account
        self.outbox = outbox
        self.offered = offered
        self.perhapsSent = perhapsSent
        self.journal = journal
        self.spaces = spaces
        self.records = records
        self.knowsOwnVersions = knowsOwnVersions
    }

    /// The identity of the device from now on.
    public enum Identity: Hashable, Sendable {
        /// The outbox is complete, so the identity and its numbering continue.
        case kept(ClientIdentity)
        /// Part of the outbox is lost, which leaves gaps in its numbers. The device takes a new client id that names
        /// the former one.
        case renewed(ClientIdentity, former: ClientIdentity)
        /// The identity could not be read. The device takes a new one, which nothing connects to the former.
        case unreadable(now: ClientIdentity)
    }

    /// Numbers of saved and lost entries in one table.
    public struct Count: Hashable, Sendable {
        /// Number of entries that are in the new database.
        public let saved: Int
        /// Number of entries that could not be read; nil when it is unknown.
        public let lost: Int?

        /// Creates counts; pass nil for `lost` when the number is unknown.
        public init(saved: Int, lost: Int?) {
            self.saved = saved
            self.lost = lost
        }
    }
}
