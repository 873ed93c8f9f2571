public import SyncModel

/// The state that the store remembers between two runs of the engine.
public struct StoredSession: Hashable, Sendable {
    /// The identity under which the next batch is sent.
    public let identity: ClientIdentity
    /// The server's history; nil before the first contact.
    public let epoch: Epoch?
    /// The owner of the database; nil before the first contact.
    public let account: AccountID?
    /// Sorted by name.
    public let spaces: [StoredSpace]
    /// The counts of the outbox when the state was read.
    public let outbox: OutboxSummary
    /// The rest of the pause that the server has asked for, when the engine starts; nil when there is none.
    package var pause: Duration?
    /// How far the server's clock was ahead of the device's at the last contact; nil before the first.
    public let clockOffset: Duration?

    /// Creates the state as a store has read it, with `spaces` sorted by name.
    public init(
        identity: ClientIdentity, epoch: Epoch?, account: AccountID?, spaces: [StoredSpace], outbox: OutboxSummary,
        clockOffset: Duration? = nil
    ) {
        self.identity = identity
        self.epoch = epoch
        self.account = account
        self.spaces = spaces
        self.outbox = outbox
        self.clockOffset = clockOffset
    }
}

extension StoredSession {
    /// Whether the journal has no room for notices of lost values, which wait on the server.
    public var waitsForRoomInJournal: Bool { spaces.contains(where: \.noticesWait) }
}
