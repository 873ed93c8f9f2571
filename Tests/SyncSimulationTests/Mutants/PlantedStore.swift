import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

/// A device's store behind hooks in which a bug can be planted. A call goes through the hook with its name if there is
/// one.
struct PlantedStore: LocalStore, EngineStore {
    let base: SimulatedDevice.Store
    var onCommit:
        @Sendable (SimulatedDevice.Store, [RecordEdit], SpaceID, WallTime) throws(StoreFailure) -> OutboxSequence? = {
            (base, edits, space, now) throws(StoreFailure) in try base.commit(edits, in: space, now: now)
        }
    var onSummary: @Sendable (OutboxSummary) -> OutboxSummary = { $0 }
    var onTakeBatch: @Sendable (SimulatedDevice.Store, BatchLimit, WallTime) throws(StoreFailure) -> PushBatch? = {
        (base, limit, now) throws(StoreFailure) in try base.takeBatch(limit, now: now)
    }
    var onRecord:
        @Sendable (SimulatedDevice.Store, [TransactionResult], ClientIdentity, WallTime) throws(StoreFailure) ->
            OutboxSummary = {
                (base, results, identity, now) throws(StoreFailure) in try base.record(results, of: identity, now: now)
            }
    var onApply:
        @Sendable (SimulatedDevice.Store, PullPage, Cursor?, DeleteBrake?, WallTime) throws(StoreFailure) -> ApplyResult =
            {
                (base, page, cursor, brake, now) throws(StoreFailure) in
                try base.apply(page, after: cursor, brake: brake, now: now)
            }
    var onReset: @Sendable (SimulatedDevice.Store, SpaceID) throws(StoreFailure) -> Void = {
        (base, space) throws(StoreFailure) in try base.resetCursor(of: space)
    }
    var onVacate: @Sendable (SimulatedDevice.Store, SpaceID, Epoch, DeleteBrake?) throws(StoreFailure) -> VacateResult =
        {
            (base, space, epoch, brake) throws(StoreFailure) in try base.vacate(space, of: epoch, brake: brake)
        }
    var onAdopt: @Sendable (SimulatedDevice.Store, Epoch, AccountID) throws(StoreFailure) -> StoredSession = {
        (base, epoch, account) throws(StoreFailure) in try base.adopt(epoch, as: account)
    }
    var onRenew: @Sendable (SimulatedDevice.Store, ClientID) throws(StoreFailure) -> StoredSession = {
        (base, client) throws(StoreFailure) in try base.renewIdentity(as: client)
    }
    var onCheckpoint: @Sendable (SimulatedDevice.Store) throws(StoreFailure) -> Void = {
        (base) throws(StoreFailure) in try base.checkpoint()
    }
    var onResend:
        @Sendable (SimulatedDevice.Store, Int64, WallTime, @Sendable () -> RecordID) throws(StoreFailure) ->
            [OutboxSequence] = { (base, number, now, newID) throws(StoreFailure) in
                try base.resend(journal: number, now: now, newID: newID)
            }
    var onRead: @Sendable (Record) -> Record = { $0 }
    var onRecords: @Sendable ([Record]) -> [Record] = { $0 }
    var onOutbox: @Sendable ([OutboxEntry]) -> [OutboxEntry] = { $0 }

    init(_ base: SimulatedDevice.Store) {
        self.base = base
    }

    var catalog: SchemaCatalog { base.catalog }
    var changes: Broadcast<StoreChange> { base.changes }

    func record(_ collection: CollectionName, _ key: RecordKey) throws(StoreFailure) -> Record? {
        try base.record(collection, key).map(onRead)
    }
    func records(matching query: RecordQuery) throws(StoreFailure) -> [Record] {
        onRecords(try base.records(matching: query).map(onRead))
    }
    func count(matching query: RecordQuery) throws(StoreFailure) -> Int { try base.count(matching: query) }
    func space(of collection: CollectionName, _ id: RecordID) throws(StoreFailure) -> SpaceID? {
        try base.space(of: collection, id)
    }
    func isPending(_ collection: CollectionName, _ id: RecordID) throws(StoreFailure) -> Bool {
        try base.isPending(collection, id)
    }
    func commit(_ edits: [RecordEdit], in space: SpaceID, now: WallTime) throws(StoreFailure) -> OutboxSequence? {
        try onCommit(base, edits, space, now)
    }
    func outbox(after sequence: OutboxSequence?, limit: Int) throws(StoreFailure) -> [OutboxEntry] {
        onOutbox(try base.outbox(after: sequence, limit: limit))
    }
    func outboxSummary() throws(StoreFailure) -> OutboxSummary { onSummary(try base.outboxSummary()) }
    func fate(of sequence: OutboxSequence) throws(StoreFailure) -> TransactionFate { try base.fate(of: sequence) }
    func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreFailure) {
        try base.cancel(sequence, now: now)
    }
    func journal(
        state: JournalEntry.State?, after number: Int64?, limit: Int
    ) throws(StoreFailure) -> [JournalEntry] {
        try base.journal(state: state, after: number, limit: limit)
    }
    func journalEntry(_ number: Int64) throws(StoreFailure) -> JournalEntry? { try base.journalEntry(number) }
    func dismissJournal(upTo number: Int64) throws(StoreFailure) -> Int { try base.dismissJournal(upTo: number) }
    func resend(
        journal number: Int64, now: WallTime, newID: @Sendable () -> RecordID
    ) throws(StoreFailure) -> [OutboxSequence] {
        try onResend(base, number, now, newID)
    }
    func dismiss(journal number: Int64) throws(StoreFailure) { try base.dismiss(journal: number) }

    func session() throws(StoreFailure) -> StoredSession { try base.session() }
    func takeBatch(_ limit: BatchLimit, now: WallTime) throws(StoreFailure) -> PushBatch? {
        try onTakeBatch(base, limit, now)
    }
    func record(
        _ results: [TransactionResult], of identity: ClientIdentity, now: WallTime
    ) throws(StoreFailure) -> OutboxSummary {
        onSummary(try onRecord(base, results, identity, now))
    }
    func withdraw(
        _ number: TransactionNumber, of identity: ClientIdentity, because rejection: Rejection
    ) throws(StoreFailure) -> OutboxSummary {
        onSummary(try base.withdraw(number, of: identity, because: rejection))
    }
    func apply(
        _ page: PullPage, after cursor: Cursor?, brake: DeleteBrake?, now: WallTime
    ) throws(StoreFailure) -> ApplyResult {
        switch try onApply(base, page, cursor, brake, now) {
        case .applied(let stored, let outbox, let count):
            .applied(stored, outbox: onSummary(outbox), changedRecords: count)
        case .braked(let deletes, let total): .braked(deletes: deletes, of: total)
        }
    }
    func resetCursor(of space: SpaceID) throws(StoreFailure) { try onReset(base, space) }
    func vacate(_ space: SpaceID, of epoch: Epoch, brake: DeleteBrake?) throws(StoreFailure) -> VacateResult {
        try onVacate(base, space, epoch, brake)
    }
    func adopt(_ epoch: Epoch, as account: AccountID) throws(StoreFailure) -> StoredSession {
        try onAdopt(base, epoch, account)
    }
    func renewIdentity(as client: ClientID) throws(StoreFailure) -> StoredSession { try onRenew(base, client) }
    func observe(_ serverTime: HybridTime, now: WallTime) throws(StoreFailure) {
        try base.observe(serverTime, now: now)
    }
    func contact() throws(StoreFailure) -> ServerContact { try base.contact() }
    func note(_ news: ContactNews, now: WallTime) throws(StoreFailure) { try base.note(news, now: now) }
    func checkpoint() throws(StoreFailure) { try onCheckpoint(base) }
}

extension WorldParts {
    static func wrappingStores(_ plant: @escaping @Sendable (inout PlantedStore) -> Void) -> WorldParts {
        var parts = WorldParts.onSQLite()
        let open = parts.openStore
        parts.openStore = { process, runtime, storage in
            var store = PlantedStore(try open(process, runtime, storage))
            plant(&store)
            return store
        }
        return parts
    }
}
