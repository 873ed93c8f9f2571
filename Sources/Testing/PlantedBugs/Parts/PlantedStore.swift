import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation

/// A device's store behind hooks in which a bug can be planted. A method that has a hook calls the hook. All other
/// methods call `base`.
struct PlantedStore: LocalStore, EngineStore {
    let base: SimulatedDevice.Store
    var onCommit:
        @Sendable (SimulatedDevice.Store, [RecordEdit], SeenFields, SpaceID, WallTime) throws(StoreError) ->
            OutboxSequence? = { (base, edits, seen, space, now) throws(StoreError) in
                try base.commit(edits, seen: seen, in: space, now: now)
            }
    var onSummary: @Sendable (OutboxSummary) -> OutboxSummary = { $0 }
    var onTakeBatch: @Sendable (SimulatedDevice.Store, BatchLimit, WallTime) throws(StoreError) -> PushBatch? = {
        (base, limit, now) throws(StoreError) in try base.takeBatch(limit, now: now)
    }
    var onRecord:
        @Sendable (SimulatedDevice.Store, [TransactionResult], ClientIdentity, WallTime) throws(StoreError) ->
            OutboxSummary = {
                (base, results, identity, now) throws(StoreError) in try base.record(results, of: identity, now: now)
            }
    var onApply:
        @Sendable (SimulatedDevice.Store, PullPage, Cursor?, DeleteBrake?, WallTime) throws(StoreError) -> ApplyResult =
            {
                (base, page, cursor, brake, now) throws(StoreError) in
                try base.apply(page, after: cursor, brake: brake, now: now)
            }
    var onReset: @Sendable (SimulatedDevice.Store, SpaceID) throws(StoreError) -> Void = {
        (base, space) throws(StoreError) in try base.resetCursor(of: space)
    }
    var onVacate:
        @Sendable (SimulatedDevice.Store, SpaceID, Epoch, DeleteBrake?, WallTime) throws(StoreError) -> VacateResult =
            {
                (base, space, epoch, brake, now) throws(StoreError) in
                try base.vacate(space, of: epoch, brake: brake, now: now)
            }
    var onAdopt: @Sendable (SimulatedDevice.Store, Epoch, AccountID) throws(StoreError) -> StoredSession = {
        (base, epoch, account) throws(StoreError) in try base.adopt(epoch, as: account)
    }
    var onRenew: @Sendable (SimulatedDevice.Store, ClientID) throws(StoreError) -> StoredSession = {
        (base, client) throws(StoreError) in try base.renewIdentity(as: client)
    }
    var onRestore:
        @Sendable (
            SimulatedDevice.Store, Int64, LeftChanges, WallTime, @escaping @Sendable () -> RecordID
        ) throws(StoreError) -> [OutboxSequence] = { (base, number, left, now, newID) throws(StoreError) in
            try base.restore(journal: number, leaving: left, now: now, newID: newID)
        }
    var onCorrect:
        @Sendable (
            SimulatedDevice.Store, [RecordEdit], JournalCorrection, SpaceID, WallTime
        ) throws(StoreError) -> OutboxSequence? = { (base, edits, correction, space, now) throws(StoreError) in
            try base.commit(edits, seen: [:], correcting: correction, in: space, now: now)
        }
    var onWithdraw: @Sendable (Rejection) -> Rejection = { $0 }
    var onContact: @Sendable (ServerContact) -> ServerContact = { $0 }
    var onRead: @Sendable (Record) -> Record = { $0 }
    var onRecords: @Sendable ([Record]) -> [Record] = { $0 }
    var onOutbox: @Sendable ([OutboxEntry]) -> [OutboxEntry] = { $0 }

    init(_ base: SimulatedDevice.Store) {
        self.base = base
    }

    var catalog: SchemaCatalog { base.catalog }
    var changes: Broadcast<StoreChange> { base.changes }

    func record(_ collection: CollectionName, _ key: RecordKey) throws(StoreError) -> Record? {
        try base.record(collection, key).map(onRead)
    }
    func shownRecord(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Record? {
        try base.shownRecord(collection, id)
    }
    func records(matching query: RecordQuery) throws(StoreError) -> [Record] {
        onRecords(try base.records(matching: query).map(onRead))
    }
    func count(matching query: RecordQuery) throws(StoreError) -> Int { try base.count(matching: query) }
    func space(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> SpaceID? {
        try base.space(of: collection, id)
    }
    func replacement(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> RecordID? {
        try base.replacement(of: collection, id)
    }
    func isPending(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Bool {
        try base.isPending(collection, id)
    }
    func commit(
        _ edits: [RecordEdit], seen: SeenFields, in space: SpaceID, now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try onCommit(base, edits, seen, space, now)
    }
    func droppedReferences() throws(StoreError) -> [DroppedReference] { try base.droppedReferences() }
    func followedSpaces() throws(StoreError) -> [StoredSpace] { try base.followedSpaces() }
    func progress() throws(StoreError) -> StoredProgress { try base.progress() }
    func clients() throws(StoreError) -> [ClientID] { try base.clients() }
    func follow(_ space: SpaceID) throws(StoreError) -> Bool { try base.follow(space) }
    func unfollow(_ space: SpaceID) throws(StoreError) -> Int? { try base.unfollow(space) }
    func outbox(after sequence: OutboxSequence?, limit: Int) throws(StoreError) -> [OutboxEntry] {
        onOutbox(try base.outbox(after: sequence, limit: limit))
    }
    func outboxSummary() throws(StoreError) -> OutboxSummary { onSummary(try base.outboxSummary()) }
    func fate(of sequence: OutboxSequence) throws(StoreError) -> TransactionFate { try base.fate(of: sequence) }
    func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreError) {
        try base.cancel(sequence, now: now)
    }
    func journal(
        state: JournalEntry.State?, after number: Int64?, limit: Int
    ) throws(StoreError) -> [JournalEntry] {
        try base.journal(state: state, after: number, limit: limit)
    }
    func rejectionCount() throws(StoreError) -> Int { try base.rejectionCount() }
    func journalEntry(_ number: Int64) throws(StoreError) -> JournalEntry? { try base.journalEntry(number) }
    func dismissJournal(upTo number: Int64) throws(StoreError) -> Int { try base.dismissJournal(upTo: number) }
    func restore(
        journal number: Int64, leaving left: LeftChanges, now: WallTime,
        newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] {
        try onRestore(base, number, left, now, newID)
    }
    func retry(
        journal number: Int64, now: WallTime, newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] {
        try base.retry(journal: number, now: now, newID: newID)
    }
    func commit(
        _ edits: [RecordEdit], seen: SeenFields, correcting correction: JournalCorrection, in space: SpaceID,
        now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try onCorrect(base, edits, correction, space, now)
    }
    func dismiss(journal number: Int64) throws(StoreError) { try base.dismiss(journal: number) }

    func session() throws(StoreError) -> StoredSession { try base.session() }
    func takeBatch(_ limit: BatchLimit, now: WallTime) throws(StoreError) -> PushBatch? {
        try onTakeBatch(base, limit, now)
    }
    func record(
        _ results: [TransactionResult], of identity: ClientIdentity, now: WallTime
    ) throws(StoreError) -> OutboxSummary {
        onSummary(try onRecord(base, results, identity, now))
    }
    func withdraw(
        _ number: TransactionNumber, of identity: ClientIdentity, because rejection: Rejection
    ) throws(StoreError) -> OutboxSummary {
        onSummary(try base.withdraw(number, of: identity, because: onWithdraw(rejection)))
    }
    func apply(
        _ page: PullPage, after cursor: Cursor?, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> ApplyResult {
        switch try onApply(base, page, cursor, brake, now) {
        case .applied(let stored, let outbox, let count):
            .applied(stored, outbox: onSummary(outbox), changedRecords: count)
        case .braked(let deletes, let total): .braked(deletes: deletes, of: total)
        }
    }
    func resetCursor(of space: SpaceID) throws(StoreError) { try onReset(base, space) }
    func vacate(
        _ space: SpaceID, of epoch: Epoch, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> VacateResult {
        try onVacate(base, space, epoch, brake, now)
    }
    func adopt(_ epoch: Epoch, as account: AccountID) throws(StoreError) -> StoredSession {
        try onAdopt(base, epoch, account)
    }
    func renewIdentity(as client: ClientID) throws(StoreError) -> StoredSession { try onRenew(base, client) }
    func observe(_ serverTime: HybridTime, now: WallTime) throws(StoreError) {
        try base.observe(serverTime, now: now)
    }
    func contact() throws(StoreError) -> ServerContact { onContact(try base.contact()) }
    func note(_ news: ContactChange, now: WallTime) throws(StoreError) { try base.note(news, now: now) }
    func checkpoint() throws(StoreError) { try base.checkpoint() }
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
