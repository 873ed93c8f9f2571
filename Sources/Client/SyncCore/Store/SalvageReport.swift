public import SyncModel

/// The result of salvaging a damaged database: the parts that were saved and the parts that were lost.
public struct SalvageReport: Hashable, Sendable {
    /// Path of the damaged database, kept unchanged.
    public let keptFile: String
    /// The identity in the new database, and its relation to the former one.
    public let identity: Identity
    /// The owner of the database; nil when it could not be read or no server has been contacted yet.
    public let account: AccountID?
    /// Entries of the outbox: writes that the server has not confirmed, or not sent back in a page.
    public let outbox: Count
    /// Number of records whose rows still had values of lost outbox entries. The journal offers these values.
    public let offered: Int
    /// Number of saved writes that may have been sent under an identity that could not be read. The server may already
    /// have them.
    public let perhapsSent: Int
    /// Entries of the journal, with the changes that a user may still restore.
    public let journal: Count
    /// The spaces that the device keeps in sync.
    public let spaces: Count
    /// Records that the server has sent. The next sync compares them with the server's records.
    public let records: Count
    /// Whether the list of values that this device has written could be read.
    ///
    /// If not, and the server is restored from an older copy, the device may not notice that such a value is lost,
    /// because others may have changed the field since.
    public let knowsOwnVersions: Bool

    /// Creates a report. By default, there are no spaces and no records.
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

extension SalvageReport {
    /// Maximum number of kept databases. More would mean a failing disk, and would fill it.
    package static let mostKeptFiles = 20

    /// Returns the second names that salvages give to damaged databases, in the order in which they are used.
    package static func keptFiles(of file: String) -> [String] { (1...mostKeptFiles).map { "\(file).damaged-\($0)" } }

    /// Returns the name of the copy that a salvage reads. It removes the copy at its end.
    package static func workingCopy(of file: String) -> String { file + ".salvage-copy" }
}
