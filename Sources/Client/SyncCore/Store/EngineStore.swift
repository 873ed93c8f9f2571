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
    /// show them. If only a lost history has shown the data, the values that this device wrote go to the journal, because
    /// the server may have lost them. Another call removes the transactions that have been answered since; if there are
    /// none, it changes nothing.
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

/// The stored state of one space.
public struct StoredSpace: Hashable, Sendable {
    /// The name of a space that the device follows.
    public let space: SpaceID
    /// The position from which the next pull continues; nil before the first page and after a reset.
    public let cursor: Cursor?
    /// Once `isComplete`, every commit up to this version is applied.
    public let version: Version
    /// Whether the device has taken a whole snapshot and read the change feed up to the head that the snapshot
    /// reported.
    public let isComplete: Bool
    /// False after the space is vacated, until the server shows part of it again.
    public let hasAccess: Bool
    /// Proof of the newest commit that the server has confirmed to this device; nil before the first one in the current
    /// history.
    public let receipt: CommitReceipt?
    /// The notices of lost values that the device still requests; nil while the journal has no room for them, and for a
    /// space that is not stored yet.
    public package(set) var notices: NoticeRequest?

    /// Creates the state of a space. By default, the account has access, there is no receipt, and no notices are
    /// requested.
    public init(
        space: SpaceID, cursor: Cursor?, version: Version, isComplete: Bool, hasAccess: Bool = true,
        receipt: CommitReceipt? = nil, notices: NoticeRequest? = nil
    ) {
        self.receipt = receipt
        self.space = space
        self.cursor = cursor
        self.version = version
        self.isComplete = isComplete
        self.hasAccess = hasAccess
        self.notices = notices
    }
}

extension StoredSpace {
    /// Whether notices of lost values wait on the server until the journal has room for them.
    public var noticesWait: Bool { cursor != nil && notices == nil }

    /// A space that the device does not follow, and of which it has nothing.
    package init(unfollowed space: SpaceID) {
        self.init(space: space, cursor: nil, version: .zero, isComplete: false, hasAccess: false)
    }

    /// The receipt, unless the cursor has reached its commit and proves the same.
    package var unreachedReceipt: CommitReceipt? {
        guard let receipt, cursor == nil || receipt.version > version else { return nil }
        return receipt
    }

    /// The receipt, unless the cursor is beyond its version. A server that has the later commits has the transaction of the
    /// receipt, too. At the same version, the transaction may have made no commit, and only the receipt proves it.
    package var neededReceipt: CommitReceipt? {
        guard let receipt, cursor == nil || receipt.version >= version else { return nil }
        return receipt
    }

    /// Returns the space after the server has issued a receipt. Receipts arrive in any order; the newest one is kept.
    ///
    /// A push whose edits all lose makes no commit. Its receipt has the version of an earlier commit, but proves more
    /// than that commit: the server has the outcome and the conflicts of the push.
    package func confirmed(by other: CommitReceipt) -> StoredSpace {
        guard other.version > .zero, other.version >= receipt?.version ?? .zero else { return self }
        return StoredSpace(
            space: space, cursor: cursor, version: version, isComplete: isComplete, hasAccess: hasAccess,
            receipt: other, notices: notices)
    }
}

extension StoredSession {
    /// Whether the journal has no room for notices of lost values, which wait on the server.
    public var waitsForRoomInJournal: Bool { spaces.contains(where: \.noticesWait) }
}

/// The limits of one push.
public struct BatchLimit: Hashable, Sendable {
    /// Maximum number of transactions in one push.
    public var transactions: Int
    /// Maximum total of `Transaction.byteCount` in one push. A larger transaction is sent alone.
    public var bytes: Int
    /// The server's collections and fields. Transactions that use others are held back; nil holds nothing back.
    public var models: ServerModels?

    /// Creates limits. Without `models`, no transaction is held back.
    public init(transactions: Int, bytes: Int, models: ServerModels? = nil) {
        self.transactions = transactions
        self.bytes = bytes
        self.models = models
    }
}

/// Transactions ready to be pushed.
public struct PushBatch: Hashable, Sendable {
    /// The identity to which the numbers belong.
    public let identity: ClientIdentity
    /// The server's history that the device follows; nil before the first contact.
    public let epoch: Epoch?
    /// The device knows all outcomes below this number.
    public let acknowledged: TransactionNumber
    /// The transactions, whose numbers follow each other without gaps.
    public let transactions: [NumberedTransaction]
    /// The counts of the outbox with this batch in it.
    public let outbox: OutboxSummary
    /// Whether the batch's only transaction is empty, in place of a withdrawn one, or to ask for the outcome under
    /// former numbers.
    public let isEmptied: Bool
    /// Cursors and receipts that prove the histories of spaces, for the server to compare.
    public let cursors: [Cursor]
    /// The size in bytes of a transaction that is alone in its batch; 0 for several, which can be split instead. A push
    /// of a large transaction has more time.
    package let loneBytes: Int

    /// Creates a batch as a store has frozen it. By default, it withdraws nothing and shows no cursors.
    public init(
        identity: ClientIdentity, epoch: Epoch?, acknowledged: TransactionNumber, transactions: [NumberedTransaction],
        outbox: OutboxSummary, isEmptied: Bool = false, cursors: [Cursor] = []
    ) {
        self.init(
            identity: identity, epoch: epoch, acknowledged: acknowledged, transactions: transactions, outbox: outbox,
            isEmptied: isEmptied, cursors: cursors,
            loneBytes: transactions.count == 1 ? transactions[0].transaction.byteCount : 0)
    }

    /// Creates a batch whose transactions may have been replaced since `loneBytes` was taken.
    package init(
        identity: ClientIdentity, epoch: Epoch?, acknowledged: TransactionNumber, transactions: [NumberedTransaction],
        outbox: OutboxSummary, isEmptied: Bool, cursors: [Cursor], loneBytes: Int
    ) {
        self.loneBytes = loneBytes
        self.cursors = cursors
        self.isEmptied = isEmptied
        self.identity = identity
        self.epoch = epoch
        self.acknowledged = acknowledged
        self.transactions = transactions
        self.outbox = outbox
    }
}

/// The result of applying a page.
public enum ApplyResult: Hashable, Sendable {
    /// The stored state of the space after the call, the counts of the outbox, and the number of records that changed.
    case applied(StoredSpace, outbox: OutboxSummary, changedRecords: Int)
    /// The page would delete more than the brake permits. Nothing was applied.
    case braked(deletes: Int, of: Int)
}

/// The result of vacating a space.
public enum VacateResult: Hashable, Sendable {
    /// The space has been vacated, or there was nothing to change.
    case vacated(VacatedSpace)
    /// Vacating would remove records that the current server has never shown. Nothing was changed.
    case braked(deletes: Int, of: Int)
}

/// The remains of a space to which the account has no access.
public struct VacatedSpace: Hashable, Sendable {
    /// The stored state of the space after the call.
    public let stored: StoredSpace
    /// The counts of the outbox, which keeps the unanswered writes in the space.
    public let outbox: OutboxSummary
    /// Number of removed records that the server had shown.
    public let removedRecords: Int

    /// Creates the result of a vacated space. `removedRecords` is 0 if nothing was left to remove.
    public init(stored: StoredSpace, outbox: OutboxSummary, removedRecords: Int) {
        self.stored = stored
        self.outbox = outbox
        self.removedRecords = removedRecords
    }
}

/// The mass-delete brake: a completed snapshot that would remove more than `percent` percent of more than `records`
/// records of a space is applied only with the user's consent.
///
/// The removal of a space to which access was lost needs consent if the current server has never shown some of its
/// records.
public struct DeleteBrake: Hashable, Sendable {
    /// The brake never stops a snapshot of a space of which the device holds this many records or fewer.
    public let records: Int
    /// The largest share of the records, in percent, that may be deleted without consent.
    public let percent: Int

    /// Creates a brake. With 0 for both, each deletion needs consent.
    public init(records: Int, percent: Int) {
        self.records = records
        self.percent = percent
    }

    /// Returns whether deleting `deletes` of `total` records needs a person's consent.
    public func stops(deleting deletes: Int, of total: Int) -> Bool {
        total > records && deletes * 100 > total * percent
    }
}
