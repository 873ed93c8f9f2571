import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// The world's record of the transactions that reached the server, their outcomes, and the commits that devices must
/// not lose.
///
/// It is kept outside all parts under test.
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
        /// Other transactions under the same number that came before the first one's outcome was known, with the time
        /// of their last arrival.
        var others: [(transaction: NumberedTransaction, now: WallTime)] = []
        let device: String
        /// The server's clock at the time when the transaction may have been applied.
        var now: WallTime
        var outcome: Outcome?
        /// The outcomes in histories that the server has lost since, with the hash of the contents that they were for.
        var former: [(hash: PayloadHash, outcome: Outcome)] = []
    }

    struct State: Sendable {
        var sent: [Operation: Sent] = [:]
        let violations: ViolationLog
        let access: AccessOracle
        /// Whether the server's application has a rule for writes (`WorldRule`).
        let hasRule: Bool
        /// The limits of a server that takes less than the devices write; nil for a server that takes everything.
        let limits: TightLimits?
        /// The limits on what each account may store.
        var accounts: AccountLimits
        /// Whether the server may have counted less than an account has stored.
        var mayUndercount = false
        /// The smallest number of bytes that an account could store so far.
        var leastAccountBytes = Int.max
        /// The transactions that each device has committed, until an outcome or a journal entry accounts for them.
        var unconfirmed: [String: [OutboxSequence: Unconfirmed]] = [:]
        /// The naive models of each space, up to the newest version below which no version is missing.
        var replays: [SpaceID: Replay]
        /// The applied operations of each space, by version.
        var applied: [SpaceID: [Version: [Operation]]] = [:]
        var uids: [CollectionName: [UID: RecordID]] = [:]
        /// The devices with a failed commit that may turn out to have taken effect when the next process starts.
        var uncertain: Set<String> = []
        /// The transactions that users have cancelled.
        var cancelled: [String: Set<OutboxSequence>] = [:]
        /// The journal entries that users have read before acting on them. The store may delete them afterwards.
        var seen: [String: [JournalEntry]] = [:]
        /// The newest commit of each device.
        var newest: [String: OutboxSequence] = [:]
        /// The newest commit of each device that a loss of power cannot undo.
        var flushed: [String: OutboxSequence] = [:]
        /// Operations that were applied and then lost with a restored server. They include operations that only an old
        /// image of a device's disk still contains.
        var lost: Set<Operation> = []
        /// The transactions that a hostile server has refused.
        var refusedByLiars: Set<PayloadHash> = []
        /// The transactions that the server has refused because the body was too long, even with nothing else in the
        /// push.
        var tooLong: Set<PayloadHash> = []
    }

    /// The expectation for a transaction that a device has committed and that must not be lost.
    struct Unconfirmed: Sendable {
        /// The operation as which the transaction was last sent; nil when it was never sent.
        ///
        /// After a disk was rolled back, a number may have belonged to another transaction before.
        var operation: Operation?
        /// The hash of the contents that were last sent; nil when none were sent.
        var hash: PayloadHash?
        /// The contents as last seen in the outbox; nil when they may have changed since.
        var transaction: Transaction?
    }

    /// The naive models of a space, one for each version from 0.
    struct Replay: Sendable {
        var models: [NaiveModel]
        var head: Version { Version(Int64(models.count - 1)) }
    }

    let state: Guarded<State>
    /// The epoch of the server's history. Devices that follow another history are not compared with the server.
    private let currentEpoch = Guarded<Epoch?>(nil)
    let catalog: SchemaCatalog

    init(
        catalog: SchemaCatalog, spaces: [SpaceID], hasRule: Bool, limits: TightLimits?, accounts: AccountLimits,
        access: AccessOracle, violations: ViolationLog
    ) {
        self.catalog = catalog
        state = Guarded(
            State(
                violations: violations, access: access, hasRule: hasRule, limits: limits, accounts: accounts,
                replays: Dictionary(
                    uniqueKeysWithValues: spaces.map { ($0, Replay(models: [NaiveModel(catalog: catalog)])) })))
    }

    var epoch: Epoch? {
        get { currentEpoch.withLock { $0 } }
        set { currentEpoch.withLock { $0 = newValue } }
    }

    /// Returns the newest version of a space up to which all applied operations are known.
    func head(of space: SpaceID) -> Version {
        state.withLock { $0.replays[space]?.head ?? .zero }
    }

    /// Returns whether a field had a value at any version of the server's history up to that of a page; nil if the page
    /// belongs to another history, or if there is no such field.
    func hasShown(_ value: FieldValue, in field: UserOracle.FieldAddress, of page: PullPage) -> Bool? {
        guard page.epoch == epoch, let position = catalog[field.collection]?.position(of: field.field) else {
            return nil
        }
        return state.withLock { state in
            let models = state.replays[page.space]?.models ?? []
            return models.prefix(Int(page.version.rawValue) + 1).contains { model in
                model.rows[field.address]?.values[position] == value
            }
        }
    }
}
