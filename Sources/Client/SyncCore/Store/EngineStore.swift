public import SyncModel

/// The engine's face of the local cache. Same promises as `LocalStore`: synchronous, one transaction a call.
///
/// Only the holder of the sync lease calls the methods that change something (I24).
public protocol EngineStore: Sendable {
    /// Returns the durable state; the engine reads it when it starts.
    func session() throws(StoreFailure) -> StoredSession

    /// The oldest unanswered transactions, numbered and frozen from now on; nil when there are none.
    ///
    /// Those that were sent before come first, under the same numbers. A transaction that alone exceeds the bytes of
    /// the limit is still given, alone.
    ///
    /// Unsent transactions with a collection or field that `limit.models` does not have are held back, and so is what depends on
    /// them: they stay waiting, with the reason, and are looked at again when `limit.models` has changed.
    ///
    /// - Parameter now: the device's wall clock, from which the ages of the transactions are reckoned.
    func takeBatch(_ limit: BatchLimit, now: WallTime) throws(StoreFailure) -> PushBatch?

    /// Writes down outcomes, in one transaction: uids, receipts, and the state `answered`; or, for a rejection, the effect taken
    /// back, the transaction and its unsent dependants in the journal. Outcomes that are known already change nothing.
    ///
    /// - Parameter identity: as whom the transactions were pushed. Outcomes of another one than the stored change nothing:
    ///   another engine of this database has taken a new incarnation, whose numbers stand for other transactions.
    func record(
        _ results: [TransactionResult], of identity: ClientIdentity, now: WallTime
    ) throws(StoreFailure) -> OutboxSummary

    /// Gives up a transaction that the server definitely refuses to take, such as one that is too large.
    ///
    /// It is not known whether an earlier attempt, whose answer was lost, has been applied or still will be. So the entry stays,
    /// and `takeBatch` gives its number once more with an empty transaction in its place. The server rejects that and keeps
    /// the number, and from then on the original cannot be applied: `record` then moves it to the journal with `rejection`.
    /// If the server has seen the number with other contents, an earlier attempt had arrived.
    ///
    /// Changes nothing when the entry is answered, or belongs to another identity. A new identity forgets the withdrawal.
    func withdraw(
        _ number: TransactionNumber, of identity: ClientIdentity, because rejection: Rejection
    ) throws(StoreFailure) -> OutboxSummary

    /// Applies a page and its cursor in one transaction: bases move, pending mutations are applied over them again,
    /// and answered entries up to the page's version leave the outbox.
    ///
    /// A page that was asked for with another cursor than the stored one changes nothing, and the result tells where the
    /// store stands: another engine of this database has gone on meanwhile, or begun again.
    ///
    /// - Parameter cursor: the one that was asked with; nil for the beginning.
    /// Notices become entries of the journal in the same transaction, each once.
    ///
    /// Rows of a snapshot grow: over all its pages no record comes twice, and no collection is left and taken up again.
    ///
    /// - Throws: `contradiction` when the page contradicts itself or what is stored (a version that goes back, also over a
    ///   reset; rows that do not grow; a uid of another record); nothing is applied then.
    func apply(
        _ page: PullPage, after cursor: Cursor?, brake: DeleteBrake?, now: WallTime
    ) throws(StoreFailure) -> ApplyResult

    /// Forgets the cursor of a space, so that the next pull starts a snapshot. Rows and outbox stay, and so does the version
    /// that was shown: an older snapshot of the same history is a stale answer.
    func resetCursor(of space: SpaceID) throws(StoreFailure)

    /// Removes what the server has shown of a space, in one transaction: rows, bases, conflicts and what was offered of a lost
    /// history (I21). What is deleted is overwritten in the database file, and the log is written back and cut: at once, or where
    /// somebody reads from it or the disk fails, with a later checkpoint of this process.
    ///
    /// Everything that this device has written stays, with the values that it replaced: transactions without an answer in the outbox, and
    /// what was refused or cancelled in the journal. Answered ones leave the outbox, as no page will show them. Calling it again
    /// removes what was answered since, and changes nothing when that is nothing.
    ///
    /// - Parameters:
    ///   - epoch: the history that says so. Where the store follows another one, nothing is changed.
    ///   - brake: asks for a person, however little there is, where only a lost history has shown it: whoever says now that it
    ///     may not be read may be another server under the same address. Nil: somebody has agreed, or is never asked.
    func vacate(_ space: SpaceID, of epoch: Epoch, brake: DeleteBrake?) throws(StoreFailure) -> VacateResult

    /// Notes the server's history. When it is another one than before, cursors are forgotten, and everything that
    /// is not confirmed is to be sent again under a new incarnation.
    ///
    /// - Parameter account: whom the server takes the device for. The first one is whom the database belongs to.
    /// - Throws: `otherAccount` when the database belongs to another; nothing is changed then.
    func adopt(_ epoch: Epoch, as account: AccountID) throws(StoreFailure) -> StoredSession

    /// Takes a new client id, as another copy of this database uses the old one: everything that is not confirmed is to be
    /// sent again, with numbers from 0 and with those under which it was sent before (I16).
    func renewIdentity(as client: ClientID) throws(StoreFailure) -> StoredSession

    /// Lets the device's hybrid clock hear of the server's.
    func observe(_ serverTime: HybridTime, now: WallTime) throws(StoreFailure)

    /// Returns the memory of the contact with the server.
    func contact() throws(StoreFailure) -> ServerContact

    /// Takes in news of the contact. Writes nothing when it is none.
    func note(_ news: ContactNews, now: WallTime) throws(StoreFailure)

    /// Writes the log into the database file, when that is due. Called between transactions, by the lease holder.
    func checkpoint() throws(StoreFailure)
}

/// The state that the store remembers between two runs of the engine.
public struct StoredSession: Hashable, Sendable {
    public let identity: ClientIdentity
    /// The server's history; nil before the first contact.
    public let epoch: Epoch?
    /// To whom the database belongs; nil before the first contact.
    public let account: AccountID?
    /// In the order of their names.
    public let spaces: [StoredSpace]
    public let outbox: OutboxSummary
    /// How much longer the server has asked to be left alone, when the engine starts.
    package var pause: Duration?
    /// How far the server's clock was ahead of the device's at the last contact; nil before the first.
    public let clockOffset: Duration?

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

public struct StoredSpace: Hashable, Sendable {
    public let space: SpaceID
    /// Nil before the first page.
    public let cursor: Cursor?
    /// Every commit up to here is applied, once `isComplete`.
    public let version: Version
    /// Whether a whole snapshot has been taken, and the feed read past what the snapshot showed.
    public let isComplete: Bool
    /// False from the vacating of the space until the server shows something of it again.
    public let hasAccess: Bool
    /// Proof of the newest commit that the server has confirmed, until the cursor has reached it.
    public let receipt: CommitReceipt?
    /// Which notices of lost values the device still wants; nil when nothing of the space is stored yet.
    public package(set) var notices: NoticeRequest?

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
    /// The space once the server has given a receipt. Receipts arrive in any order; the newest one stays.
    package func confirmed(by other: CommitReceipt) -> StoredSpace {
        guard other.version > (receipt?.version ?? .zero), cursor == nil || other.version > version else { return self }
        return StoredSpace(
            space: space, cursor: cursor, version: version, isComplete: isComplete, hasAccess: hasAccess,
            receipt: other, notices: notices)
    }
}

/// The limits of one push.
public struct BatchLimit: Hashable, Sendable {
    public var transactions: Int
    public var bytes: Int
    /// The collections and fields of the server: transactions with others are held back. Nil holds nothing back.
    public var models: ServerModels?

    public init(transactions: Int, bytes: Int, models: ServerModels? = nil) {
        self.transactions = transactions
        self.bytes = bytes
        self.models = models
    }
}

/// Transactions ready to be pushed.
public struct PushBatch: Hashable, Sendable {
    public let identity: ClientIdentity
    public let epoch: Epoch?
    /// All outcomes below this number are known here.
    public let acknowledged: TransactionNumber
    public let transactions: [NumberedTransaction]
    public let outbox: OutboxSummary
    /// Whether the one transaction of the batch stands in for one that was withdrawn.
    public let isWithdrawal: Bool
    /// The newest proof that the device has of each space's history, for the server to compare.
    public let cursors: [Cursor]

    public init(
        identity: ClientIdentity, epoch: Epoch?, acknowledged: TransactionNumber, transactions: [NumberedTransaction],
        outbox: OutboxSummary, isWithdrawal: Bool = false, cursors: [Cursor] = []
    ) {
        self.cursors = cursors
        self.isWithdrawal = isWithdrawal
        self.identity = identity
        self.epoch = epoch
        self.acknowledged = acknowledged
        self.transactions = transactions
        self.outbox = outbox
    }
}

/// The result of applying a page.
public enum ApplyResult: Hashable, Sendable {
    case applied(StoredSpace, outbox: OutboxSummary, changedRecords: Int)
    /// The page would delete too much without proof; nothing was applied.
    case braked(deletes: Int, of: Int)
}

/// The result of vacating a space.
public enum VacateResult: Hashable, Sendable {
    case vacated(VacatedSpace)
    /// It would remove too much without proof; nothing was changed.
    case braked(deletes: Int, of: Int)
}

/// The rest of a space to which the account has no access.
public struct VacatedSpace: Hashable, Sendable {
    public let stored: StoredSpace
    public let outbox: OutboxSummary
    /// How many records that the server had shown are gone.
    public let removedRecords: Int

    public init(stored: StoredSpace, outbox: OutboxSummary, removedRecords: Int) {
        self.stored = stored
        self.outbox = outbox
        self.removedRecords = removedRecords
    }
}

/// The mass-delete brake: on a device that holds more than `records` records, a completed snapshot that would remove more than
/// `percent` percent of them is not applied, unless the user has agreed.
public struct DeleteBrake: Hashable, Sendable {
    public let records: Int
    public let percent: Int

    public init(records: Int, percent: Int) {
        self.records = records
        self.percent = percent
    }

    /// Whether deleting `deletes` of `total` records asks for a person.
    public func stops(deleting deletes: Int, of total: Int) -> Bool {
        total > records && deletes * 100 > total * percent
    }
}
