public import SyncModel

/// The part of the local store that the engine uses.
///
/// It gives the same guarantees as `LocalStore`: each call is synchronous and is one transaction. Only the holder of
/// the sync lease may call the methods that change something (I24).
public protocol EngineStore: Sendable {
    /// Returns the durable state. The engine reads it when it starts.
    func session() throws(StoreError) -> StoredSession

    /// Returns the oldest unanswered transactions, or nil when none can be sent. From now on they are numbered and
    /// frozen.
    ///
    /// Transactions that were sent before come first, under the same numbers. A transaction that alone exceeds the byte
    /// limit is still returned, alone.
    ///
    /// An unsent transaction that uses a collection or field missing from `limit.models` is held back, together with
    /// all transactions that depend on it. It stays in the outbox with the reason and is checked again when
    /// `limit.models` changes.
    ///
    /// - Parameter now: The device's wall clock, from which the ages of the transactions are computed.
    func takeBatch(_ limit: BatchLimit, now: WallTime) throws(StoreError) -> PushBatch?

    /// Records outcomes in one transaction.
    ///
    /// An applied transaction gets its uids, its receipt, and the state `answered`. The effect of a rejected
    /// transaction is undone, and the transaction moves to the journal with its unsent dependents. If the server
    /// rejected the transaction because it does not know a collection or field, or lacks a record whose creation is
    /// held back, the transaction is held back instead. It is checked again when `BatchLimit.models` changes, or when a
    /// batch has nothing else to send. Outcomes that are already recorded change nothing.
    ///
    /// - Parameter identity: The identity under which the transactions were pushed. If it is not the stored one,
    ///   nothing changes: another engine on this database has taken a new incarnation, whose numbers stand for other
    ///   transactions.
    func record(
        _ results: [TransactionResult], of identity: ClientIdentity, now: WallTime
    ) throws(StoreError) -> OutboxSummary

    /// Gives up a transaction that the server definitely refuses to take, such as one that is too large.
    ///
    /// An earlier attempt whose response was lost may have been applied, or may still be. So the entry stays, and
    /// `takeBatch` returns its number once more with an empty transaction in its place. The server rejects the empty
    /// transaction and remembers the number, so the original can no longer be applied; `record` then moves it to the
    /// journal with `rejection`. If the server refuses the empty transaction as an identity conflict, an earlier
    /// attempt has arrived.
    ///
    /// Changes nothing when the entry is answered or belongs to another identity. A new identity forgets the
    /// withdrawal.
    func withdraw(
        _ number: TransactionNumber, of identity: ClientIdentity, because rejection: Rejection
    ) throws(StoreError) -> OutboxSummary

    /// Applies a page and its cursor in one transaction.
    ///
    /// Bases move to the new values, pending mutations are applied over them again, and answered entries up to the
    /// page's version leave the outbox. Each notice becomes one journal entry in the same transaction.
    ///
    /// If the page was requested with a cursor other than the stored one, nothing changes and the result holds the
    /// stored state: another engine on this database has pulled or reset the space in the meantime. Nothing changes for
    /// a space that the device no longer follows.
    ///
    /// Rows of a snapshot must arrive in increasing order: over all its pages no record appears twice, and no
    /// collection resumes after another one has begun.
    ///
    /// - Parameters:
    ///   - cursor: The cursor that the page was requested with; nil for the beginning.
    ///   - brake: The deletions that need a person's consent; nil applies the page without asking.
    /// - Throws: `contradiction` when the page contradicts itself or the stored data (a version that goes back, even
    ///   over a reset; rows out of order; a uid that belongs to another record). Nothing is applied then.
    func apply(
        _ page: PullPage, after cursor: Cursor?, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> ApplyResult

    /// Forgets the cursor of a space, so that the next pull starts a snapshot. Changes nothing for a space that the
    /// device does not follow.
    ///
    /// Rows and outbox stay. The version that was shown stays too, because an older snapshot of the same history is a
    /// stale response.
    func resetCursor(of space: SpaceID) throws(StoreError)

    /// Removes everything that the server has shown of a space, in one transaction: rows, bases, conflicts, and records
    /// that the journal offers to restore from a lost history (I21).
    ///
    /// Deleted data is overwritten in the database file, and the write-ahead log (WAL) is checkpointed and truncated.
    /// The checkpoint happens at once, or later in this process when a reader still uses the WAL or the disk fails.
    ///
    /// Everything that this device has written stays, with the values that it replaced: unanswered transactions in the
    /// outbox, rejected and cancelled ones in the journal. Answered transactions leave the outbox, because no page will
    /// show them. If only a lost history has shown the data, the values that this device wrote go to the journal,
    /// because the server may have lost them. Another call removes the transactions that have been answered since; if
    /// there are none, it changes nothing.
    ///
    /// - Parameters:
    ///   - epoch: The history in which access was denied. If the store follows another history, nothing changes.
    ///   - brake: If not nil, the removal needs a person's consent, whatever its size, when only a lost history has
    ///     shown the data: another server may be answering under the same address. Nil removes without asking.
    func vacate(
        _ space: SpaceID, of epoch: Epoch, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> VacateResult

    /// Stores the server's history. If it replaces another one, cursors are forgotten, and everything unconfirmed will
    /// be sent again under a new incarnation.
    ///
    /// - Parameter account: The account that the server takes the device for. It becomes the owner of the database, if
    ///   nothing has been exchanged with a server before.
    /// - Throws: `otherAccount` when the database belongs to another account. Nothing is changed then.
    func adopt(_ epoch: Epoch, as account: AccountID) throws(StoreError) -> StoredSession

    /// Takes a new client id, for example because another copy of this database uses the old one.
    ///
    /// Everything unconfirmed will be sent again with numbers from 0, together with its former numbers (I16).
    func renewIdentity(as client: ClientID) throws(StoreError) -> StoredSession

    /// Feeds the server's time into the device's hybrid clock.
    func observe(_ serverTime: HybridTime, now: WallTime) throws(StoreError)

    /// Returns what the database remembers of its contact with the server.
    func contact() throws(StoreError) -> ServerContact

    /// Updates the memory of the contact. Writes nothing when the news changes nothing.
    func note(_ news: ContactChange, now: WallTime) throws(StoreError)

    /// Writes the write-ahead log (WAL) back into the database file, if that is due. The lease holder calls this
    /// between transactions.
    func checkpoint() throws(StoreError)
}
