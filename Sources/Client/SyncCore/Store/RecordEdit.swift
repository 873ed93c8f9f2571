public import SyncModel

/// An edit of one record, as an application requests it.
public enum RecordEdit: Hashable, Sendable {
    /// Creates the record with these values, under an id that was never used. Defaults are not filled in.
    case create(CollectionName, RecordID, Patch)
    /// Sets these fields of the record. Fields that already have the requested value are left alone.
    case update(CollectionName, RecordID, Patch)
    /// Deletes the record, which must be on this device.
    case delete(CollectionName, RecordID)

    /// The collection of the record.
    public var collection: CollectionName {
        switch self {
        case .create(let collection, _, _), .update(let collection, _, _), .delete(let collection, _): collection
        }
    }

    /// The id of the record.
    public var record: RecordID {
        switch self {
        case .create(_, let id, _), .update(_, let id, _), .delete(_, let id): id
        }
    }

    package var address: RecordAddress { RecordAddress(collection, record) }
}

/// The place of a transaction in this device's write order; never reused.
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
    /// The place of the transaction in the write order.
    public let sequence: OutboxSequence
    /// The mutations, as they were written or coalesced.
    public let transaction: Transaction
    /// The progress of the transaction under the current identity.
    public let state: State
    /// The numbers under which earlier identities of the device sent it, oldest first.
    public let formerly: [FormerNumber]
    /// The collection, or `collection.field`, that the server does not know yet; nil when the transaction is not held
    /// back.
    public let heldFor: String?

    /// Whether the server cannot have the transaction, so that it can still be cancelled or coalesced with a later one.
    public var isUnsent: Bool { state == .waiting && formerly.isEmpty }

    /// The stages between the write and its removal from the outbox.
    public enum State: Hashable, Sendable {
        /// Without a number: not sent under the current identity, or rejected by a server that does not know a
        /// collection or field yet, so that the transaction is sent again later.
        case waiting
        /// Sent at least once, and frozen because the server may have it.
        case sent(TransactionNumber, attempts: Int)
        /// Applied by the server at this version. The entry is removed when the pull cursor reaches the version.
        case answered(TransactionNumber, version: Version)
    }

    /// Creates an entry as a store has read it. By default, it has no former numbers and is not held back.
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

/// The progress of a transaction through the outbox.
public enum TransactionFate: Hashable, Sendable {
    /// The transaction is in the outbox, in this state.
    case pending(OutboxEntry.State)
    /// The server has applied it and shown it back.
    case confirmed
    /// The server has rejected it, or one that it depends on. The journal entry has the reason.
    case rejected(JournalEntry)
    /// The user cancelled it before it was sent. The journal keeps it.
    case cancelled
    /// The transaction was settled too long ago to tell whether it was confirmed: the journal no longer keeps entries
    /// of that age, or its entry was lost with a damaged database.
    case unknown
}

/// A rejected, merged, or restorable change that the user can look up, so that nothing they typed just disappears.
public struct JournalEntry: Hashable, Sendable {
    /// The number of the entry. Newer entries have greater numbers.
    public let number: Int64
    /// The device's wall clock when the entry was made.
    public let at: WallTime
    /// The transaction's place in the outbox; nil when the entry does not come from a transaction of this device.
    public let sequence: OutboxSequence?
    /// The reason for the entry, with the changes.
    public let event: Event
    /// Whether the user has handled the entry.
    public let state: State
    /// Creates of the records that restoring the entry may have to create again.
    ///
    /// For a rejected, cancelled, or lost transaction: the records that it changes or refers to, with the values
    /// shown when the entry was made. For a merged or overwritten one: its deleted records, with the values shown
    /// before the deletion. The records that these require are included. Nil when there are none.
    public let records: Transaction?

    /// The reasons for an entry, each with the changes that it keeps.
    public enum Event: Hashable, Sendable {
        /// The server rejected the transaction, or it depended on a rejected one. The whole transaction is kept.
        case rejected(Transaction, Rejection)
        /// The server applied the transaction but merged it with other edits. The losing values are kept.
        case merged([FieldConflict])
        /// Another device replaced values of this device that the server had applied, by an edit or delete made without
        /// having seen the values. If the record was deleted and existed on this device, `deleted` holds the whole
        /// record as a create.
        case overwritten([FieldConflict], deleted: Transaction?)
        /// The server has removed notices about overwritten values of this device in a space before the device fetched
        /// them, because there were too many. The device does not know which values they were. Nothing can be restored.
        case noticesRemoved(in: SpaceID)
        /// The user cancelled the transaction before it was sent.
        case cancelled(Transaction)
        /// The server lost its history, for example by restoring a backup, and the new history lacks this change. The
        /// transaction would bring it back (I15); a person decides whether to do that.
        case lost(Transaction)
    }

    /// The states of an entry. Only active ones still need the user.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// Not handled yet.
        case active
        /// Written again. It cannot be restored twice.
        case restored
        /// Handled without a restore, which is still possible.
        case dismissed
    }

    /// Creates an entry as a store has read it.
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
