import SyncCore
import SyncModel

/// A simple model of a client's durable store as a value, which the explorer uses with the real session machine.
///
/// It is a second, independent implementation of the store.
struct ModelStore: Hashable, Sendable {
    let client: ClientID
    private(set) var incarnation = 0
    private(set) var epoch: Epoch?
    private(set) var account: AccountID?
    private(set) var base: [RecordID: Record] = [:]
    private(set) var outbox: [Entry] = []
    /// The sequences of rejected transactions.
    private(set) var journal: Set<Int> = []
    /// The version of the cursor; nil before the first page and after a reset.
    private(set) var cursor: Version?
    /// Whether the device has access to the space.
    private(set) var hasAccess = true
    private(set) var written = 0
    private var nextNumber = TransactionNumber.first

    struct Entry: Hashable, Sendable {
        let sequence: Int
        let transaction: Transaction
        var number: TransactionNumber?
        /// The version at which the server has applied the transaction; nil until it is answered.
        var answered: Version?
    }

    init(client: ClientID) {
        self.client = client
    }

    // MARK: The application

    /// Returns the record as reads show it.
    func current(_ id: RecordID) -> Record? {
        Overlay.current(
            base: base[id], applying: outbox.flatMap(\.transaction.mutations).filter { $0.record == id },
            schema: ExplorerWorld.schema)
    }

    /// Writes one mutation and its outbox entry.
    mutating func write(_ intent: Mutation.Intent, to id: RecordID) {
        written += 1
        let mutation = Mutation(
            collection: ExplorerWorld.schema.collection, record: id, time: HybridTime(rawValue: UInt64(written)),
            intent: intent)
        outbox.append(Entry(sequence: written, transaction: Transaction(space: .default, mutations: [mutation])))
    }

    // MARK: The engine

    var summary: OutboxSummary {
        OutboxSummary(
            waiting: outbox.count { $0.number == nil }, sent: outbox.count { $0.number != nil && $0.answered == nil },
            answered: outbox.count { $0.answered != nil }, bytes: 0, activeJournalEntries: journal.count)
    }

    var session: StoredSession {
        StoredSession(
            identity: ClientIdentity(client: client, incarnation: incarnation), epoch: epoch, account: account,
            spaces: [space], outbox: summary)
    }

    private var space: StoredSpace {
        StoredSpace(
            space: .default, cursor: cursor.map { Cursor(rawValue: "\($0)") }, version: cursor ?? .zero,
            isComplete: cursor != nil, hasAccess: hasAccess)
    }

    /// Carries out an action as the real store would, and returns the resulting event.
    mutating func response(_ action: StoreAction) -> StoreEvent {
        switch action {
        case .countOutbox: return .outboxCounted(summary)
        case .readSpaces: return .spacesRead([space])
        case .takeBatch(let limit): return takeBatch(limit).map { .batchTaken($0) } ?? .nothingToPush(summary)
        case .record(let results, _, _):
            for result in results { record(result) }
            return .resultsRecorded(summary)
        case .withdraw:
            // The model server decides about every transaction instead of refusing it, so nothing is ever withdrawn.
            return .transactionWithdrawn(summary)
        case .apply(let page, _, _):
            apply(page)
            return .pageApplied(.default, .applied(space, outbox: summary, changedRecords: 0))
        case .resetCursor:
            cursor = nil
            return .cursorReset(.default)
        case .vacate:
            let removed = base.count
            base = [:]
            cursor = nil
            hasAccess = false
            outbox.removeAll { $0.answered != nil }
            let vacated = VacatedSpace(stored: space, outbox: summary, removedRecords: removed)
            return .spaceVacated(.default, .vacated(vacated))
        case .adopt(let epoch, let account):
            self.account = account
            if let known = self.epoch, known != epoch {
                cursor = nil
                renew()
            }
            self.epoch = epoch
            return .sessionChanged(session)
        case .renewIdentity:
            renew()
            return .sessionChanged(session)
        }
    }

    private mutating func takeBatch(_ limit: BatchLimit) -> PushBatch? {
        let unanswered = outbox.indices.filter { outbox[$0].answered == nil }.prefix(limit.transactions)
        guard !unanswered.isEmpty else { return nil }
        var batch: [NumberedTransaction] = []
        for index in unanswered {
            let number = outbox[index].number ?? nextNumber
            if outbox[index].number == nil { nextNumber = nextNumber.next }
            outbox[index].number = number
            batch.append(
                NumberedTransaction(
                    number: number, hash: PayloadHash(rawValue: "\(client)/\(outbox[index].sequence)"),
                    transaction: outbox[index].transaction))
        }
        return PushBatch(
            identity: ClientIdentity(client: client, incarnation: incarnation), epoch: epoch,
            acknowledged: batch[0].number, transactions: batch, outbox: summary)
    }

    private mutating func record(_ result: TransactionResult) {
        guard let index = outbox.firstIndex(where: { $0.number == result.number && $0.answered == nil }) else { return }
        switch result.outcome {
        case .applied(let version, _, _):
            if let cursor, cursor >= version { outbox.remove(at: index) } else { outbox[index].answered = version }
        case .rejected:
            journal.insert(outbox.remove(at: index).sequence)
        }
    }

    private mutating func apply(_ page: PullPage) {
        switch page.content {
        case .snapshot(let rows, _, _):
            base = Dictionary(uniqueKeysWithValues: rows.flatMap(\.records).map { ($0.id, $0) })
        case .commits(let commits):
            for commit in commits where commit.version > (cursor ?? .zero) {
                for change in commit.changes { base.apply(change, at: commit.version) }
            }
        }
        cursor = page.version
        hasAccess = true
        outbox.removeAll { entry in entry.answered.map { $0 <= page.version } ?? false }
    }

    private mutating func renew() {
        incarnation += 1
        nextNumber = .first
        for index in outbox.indices {
            outbox[index].number = nil
            outbox[index].answered = nil
        }
    }
}

extension [RecordID: Record] {
    /// Applies a change of the feed to the records of a client or of the model server.
    mutating func apply(_ change: RecordChange, at version: Version) {
        self[change.id] = change.applied(to: self[change.id], at: version, schema: ExplorerWorld.schema)
    }
}
