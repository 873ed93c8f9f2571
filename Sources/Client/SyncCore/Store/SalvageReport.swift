public import SyncModel

/// The result of a salvage: the saved parts of a damaged database, and the lost ones.
public struct SalvageReport: Hashable, Sendable {
    /// Where the damaged database is kept, whole, as it was found.
    public let keptFile: String
    public let identity: Identity
    /// To whom the database belongs; nil where that could not be read, or no server was met yet.
    public let account: AccountID?
    /// Writes that the server has not confirmed and shown back.
    public let outbox: Count
    /// Saved writes that were on their way under an identity that could not be read: the server may have them already.
    public let perhapsSent: Int
    public let journal: Count

    public init(
        keptFile: String, identity: Identity, account: AccountID?, outbox: Count, perhapsSent: Int, journal: Count
    ) {
        self.keptFile = keptFile
        self.identity = identity
        self.account = account
        self.outbox = outbox
        self.perhapsSent = perhapsSent
        self.journal = journal
    }

    /// The name that the device has from now on.
    public enum Identity: Hashable, Sendable {
        /// The outbox is whole: numbers go on.
        case kept(ClientIdentity)
        /// Some of the outbox is lost, so its numbers have gaps: a new client id, which names the former one.
        case renewed(ClientIdentity, former: ClientIdentity)
        /// It could not be read: a new one, which nobody connects with the former.
        case unreadable(now: ClientIdentity)
    }

    /// Entries of one table.
    public struct Count: Hashable, Sendable {
        public let saved: Int
        /// How many could not be read; nil where nobody can tell.
        public let lost: Int?

        public init(saved: Int, lost: Int?) {
            self.saved = saved
            self.lost = lost
        }
    }
}
