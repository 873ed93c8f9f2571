import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// The world's own record: which transactions reached the server and with which outcome, and what devices were
/// told to be safe. Kept outside of all parts under test.
final class History: Sendable {
    /// The idempotency key of a transaction.
    struct Operation: Hashable, Comparable, Sendable, CustomStringConvertible {
        let identity: ClientIdentity
        let number: TransactionNumber

        static func < (left: Operation, right: Operation) -> Bool {
            (left.identity.client, left.identity.incarnation, left.number)
                < (right.identity.client, right.identity.incarnation, right.number)
        }

        var description: String { "\(identity)#\(number)" }
    }

    struct Sent: Sendable {
        var transaction: NumberedTransaction
        /// Other transactions under the same number before the outcome of the first was known, and when each came last.
        var others: [(transaction: NumberedTransaction, now: WallTime)] = []
        let device: String
        /// The clock of the server, when it may have been applied.
        var now: WallTime
        var outcome: Outcome?
        /// The outcomes in histories that the server has lost since, and the contents that they were for.
        var former: [(hash: PayloadHash, outcome: Outcome)] = []
    }

    struct State: Sendable {
        var sent: [Operation: Sent] = [:]
        let violations: ViolationLog
        let access: AccessWatch
        /// The transactions that each device was told to be committed and that are not yet known to have arrived.
        var owed: [String: [OutboxSequence: Owed]] = [:]
        /// Applied operations of each space, in the order of their versions, as far as they are known without a gap.
        var replays: [SpaceID: Replay]
        var applied: [SpaceID: [Version: [Operation]]] = [:]
        var uids: [CollectionName: [UID: RecordID]] = [:]
        /// Devices with a failed commit that the next process may find done.
        var uncertain: Set<String> = []
        /// The entries that users have taken back.
        var cancelled: [String: Set<OutboxSequence>] = [:]
        /// The entries that users have read in their journals before they dealt with them: each may be forgotten then.
        var seen: [String: [JournalEntry]] = [:]
        /// The newest commit of each device, and the newest that no loss of power can take back.
        var newest: [String: OutboxSequence] = [:]
        var flushed: [String: OutboxSequence] = [:]
        /// Operations that were applied, and lost with a server that was restored: also of devices that only an old image of a disk
        /// brings back.
        var lost: Set<Operation> = []
        /// The transactions that a hostile server has refused.
        var refusedByLiars: Set<PayloadHash> = []
    }

    struct Owed: Sendable {
        /// As what it was sent last, and with which contents: after a disk was rolled back, a number may have been that of
        /// another transaction before.
        var operation: Operation?
        var hash: PayloadHash?
        /// The contents as last seen in the outbox; nil when they may be others since.
        var transaction: Transaction?
    }

    /// The naive model at each version.
    struct Replay: Sendable {
        var models: [NaiveModel]
        var head: Version { Version(Int64(models.count - 1)) }
    }

    let state: Guarded<State>
    /// The server's history; devices that live in another one are not compared with it.
    private let currentEpoch = Guarded<Epoch?>(nil)
    let catalog: SchemaCatalog

    init(catalog: SchemaCatalog, spaces: [SpaceID], access: AccessWatch, violations: ViolationLog) {
        self.catalog = catalog
        state = Guarded(
            State(
                violations: violations, access: access,
                replays: Dictionary(
                    uniqueKeysWithValues: spaces.map { ($0, Replay(models: [NaiveModel(catalog: catalog)])) })))
    }

    var epoch: Epoch? {
        get { currentEpoch.withLock { $0 } }
        set { currentEpoch.withLock { $0 = newValue } }
    }

    /// How many operations the server is known to have applied, and the head that follows from them.
    func head(of space: SpaceID) -> Version {
        state.withLock { $0.replays[space]?.head ?? .zero }
    }
}
