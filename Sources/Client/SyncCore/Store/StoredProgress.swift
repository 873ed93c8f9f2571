/// The progress of the sync as the database remembers it at one moment, whichever process syncs it.
public struct StoredProgress: Hashable, Sendable {
    /// The counts of the outbox and of the journal's active entries.
    public let outbox: OutboxSummary
    /// The followed spaces, sorted by name.
    public let spaces: [StoredSpace]
    /// Whether a page of the server has announced commits that this device has not applied yet.
    public let isBehind: Bool
    /// The last success, and the last failure since then.
    public let contact: ServerContact

    /// Creates the progress as a store has read it.
    public init(outbox: OutboxSummary, spaces: [StoredSpace], isBehind: Bool, contact: ServerContact) {
        self.outbox = outbox
        self.spaces = spaces
        self.isBehind = isBehind
        self.contact = contact
    }

    /// Whether, as of the last contact, the server had confirmed everything written here, and the device had everything
    /// that the account may read in the followed spaces.
    public var isInSync: Bool {
        contact.lastSync != nil && contact.lastFailure == nil && outbox.count == 0 && !isBehind
            && spaces.allSatisfy { $0.isComplete || !$0.hasAccess }
    }
}
