public import SyncModel

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
