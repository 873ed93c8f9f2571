public import SyncModel

/// An edit of one record that an application asks the store for.
public enum RecordEdit: Hashable, Sendable {
    case create(CollectionName, RecordID, Patch)
    /// Fields whose value is already the asked one are left alone.
    case update(CollectionName, RecordID, Patch)
    case delete(CollectionName, RecordID)

    public var collection: CollectionName {
        switch self {
        case .create(let collection, _, _), .update(let collection, _, _), .delete(let collection, _): collection
        }
    }

    public var record: RecordID {
        switch self {
        case .create(_, let id, _), .update(_, let id, _), .delete(_, let id): id
        }
    }
}

/// The place of a transaction in the order in which this device wrote; never re-used.
public struct OutboxSequence: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public static func < (left: OutboxSequence, right: OutboxSequence) -> Bool {
        left.rawValue < right.rawValue
    }

    public var description: String { String(rawValue) }
}

/// A transaction in the outbox, as the store keeps it.
public struct OutboxEntry: Hashable, Sendable {
    public let sequence: OutboxSequence
    public let transaction: Transaction
    public let state: State
    /// The numbers under which earlier identities of the device have sent it, oldest first.
    public let formerly: [FormerNumber]
    /// The collection, or `collection.field`, that the server does not know yet, and for which the transaction is held back.
    public let heldFor: String?

    /// Whether the server cannot have it: it can still be cancelled, or joined with a later one.
    public var isUnsent: Bool { state == .waiting && formerly.isEmpty }

    public enum State: Hashable, Sendable {
        /// Not sent under the present identity.
        case waiting
        /// Sent at least once, and frozen: the server may have it.
        case sent(TransactionNumber, attempts: Int)
        /// The server has applied it at this version; it leaves when the pull cursor arrives there.
        case answered(TransactionNumber, version: Version)
    }

    public init(
        sequence: OutboxSequence, transaction: Transaction, state: State, formerly: [FormerNumber] = [],
        heldFor: String? = nil
    ) {
        self.heldFor = heldFor
        self.sequence = sequence
        self.transaction = transaction
        self.state = state
        self.formerly = formerly
    }
}

/// Where a transaction has got to.
public enum TransactionFate: Hashable, Sendable {
    case pending(OutboxEntry.State)
    /// The server has applied it and shown it back.
    case confirmed
    case rejected(JournalEntry)
    case cancelled
    /// It was settled so long ago that nothing tells any more whether it was confirmed: the journal has forgotten entries as
    /// old as it would be.
    case forgotten
}

/// Something that the user should be able to look up: nothing that they typed just disappears.
public struct JournalEntry: Hashable, Sendable {
    public let number: Int64
    public let at: WallTime
    /// The transaction's place in the outbox; nil when no transaction of this device is behind the entry.
    public let sequence: OutboxSequence?
    public let event: Event
    public let state: State
    /// Creates of the records that a rejected or cancelled transaction changes, as they were shown with it: should one have been
    /// deleted, this makes it again. Nil when it changes none that a server has shown.
    public let records: Transaction?

    public enum Event: Hashable, Sendable {
        /// The transaction was refused, by the server or because it depends on a refused one; it is kept whole.
        case rejected(Transaction, Rejection)
        /// The transaction was applied, but met other edits; the losing values are kept.
        case merged([FieldConflict])
        /// Values that the server had applied gave way to an edit or a delete of another device that had not seen them.
        /// With the whole record as a create, when it was deleted and was here.
        case overwritten([FieldConflict], deleted: Transaction?)
        /// The user took the transaction back before it was sent.
        case cancelled(Transaction)
        /// The server has lost its history, and the one that replaced it, such as a restored backup, does not have this:
        /// what would bring it back (I15). Whether it should come back is for a person to say.
        case forgotten(Transaction)
    }

    public enum State: String, Hashable, Sendable, CaseIterable {
        case active, resent, dismissed
    }

    public init(
        number: Int64, at: WallTime, sequence: OutboxSequence?, event: Event, state: State,
        records: Transaction? = nil
    ) {
        self.records = records
        self.number = number
        self.at = at
        self.sequence = sequence
        self.event = event
        self.state = state
    }
}
