import SyncConcurrency
import SyncCore
import SyncModel

/// A device's store as seen by the engine and the users.
///
/// Counts the disk faults that its calls meet, and reports pages, changes of history, losses of access, and checkpoints
/// to the oracles.
struct WatchedStore: LocalStore, EngineStore {
    let device: String
    let store: any LocalStore & EngineStore
    let disk: SimulatedDisk
    let tally: FaultTally
    let lostHistory: LostHistoryOracle
    let brakes: BrakeOracle
    let journals: JournalOracle
    let observer: any DeviceObserver

    private func watch<Result>(
        _ phase: OperationPhase, _ body: () throws -> Result
    ) throws(StoreError) -> Result {
        try tally.watch(phase, on: disk) { () throws(StoreError) in try StoreError.typed(body) }
    }

    // MARK: The application's side

    var catalog: SchemaCatalog { store.catalog }
    var changes: Broadcast<StoreChange> { store.changes }

    func record(_ collection: CollectionName, _ key: RecordKey) throws(StoreError) -> Record? {
        try watch(.reading) { try store.record(collection, key) }
    }

    func shownRecord(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Record? {
        try watch(.reading) { try store.shownRecord(collection, id) }
    }

    func records(matching query: RecordQuery) throws(StoreError) -> [Record] {
        try watch(.reading) { try store.records(matching: query) }
    }

    func count(matching query: RecordQuery) throws(StoreError) -> Int {
        try watch(.reading) { try store.count(matching: query) }
    }

    func space(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> SpaceID? {
        try watch(.reading) { try store.space(of: collection, id) }
    }

    func replacement(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> RecordID? {
        try watch(.reading) { try store.replacement(of: collection, id) }
    }

    func isPending(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Bool {
        try watch(.reading) { try store.isPending(collection, id) }
    }

    func commit(
        _ edits: [RecordEdit], seen: SeenFields, in space: SpaceID, now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try watch(.writing) { try store.commit(edits, seen: seen, in: space, now: now) }
    }

    func droppedReferences() throws(StoreError) -> [DroppedReference] {
        try watch(.reading) { try store.droppedReferences() }
    }

    func followedSpaces() throws(StoreError) -> [StoredSpace] {
        try watch(.reading) { try store.followedSpaces() }
    }

    func progress() throws(StoreError) -> StoredProgress {
        try watch(.reading) { try store.progress() }
    }

    func follow(_ space: SpaceID) throws(StoreError) -> Bool {
        try watch(.changingSession) { try store.follow(space) }
    }

    func unfollow(_ space: SpaceID) throws(StoreError) -> Int? {
        // If it fails, it may have taken effect.
        defer { journals.hasVacated(space, on: device) }
        return try watch(.changingSession) { try store.unfollow(space) }
    }

    func outbox(after sequence: OutboxSequence?, limit: Int) throws(StoreError) -> [OutboxEntry] {
        try watch(.reading) { try store.outbox(after: sequence, limit: limit) }
    }

    func outboxSummary() throws(StoreError) -> OutboxSummary {
        try watch(.reading) { try store.outboxSummary() }
    }

    func fate(of sequence: OutboxSequence) throws(StoreError) -> TransactionFate {
        try watch(.reading) { try store.fate(of: sequence) }
    }

    func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreError) {
        try watch(.writing) { try store.cancel(sequence, now: now) }
    }

    func journal(
        state: JournalEntry.State?, after number: Int64?, limit: Int
    ) throws(StoreError) -> [JournalEntry] {
        try watch(.reading) { try store.journal(state: state, after: number, limit: limit) }
    }

    func rejectionCount() throws(StoreError) -> Int {
        try watch(.reading) { try store.rejectionCount() }
    }

    func journalEntry(_ number: Int64) throws(StoreError) -> JournalEntry? {
        try watch(.reading) { try store.journalEntry(number) }
    }

    func clients() throws(StoreError) -> [ClientID] {
        try watch(.reading) { try store.clients() }
    }

    func dismissJournal(upTo number: Int64) throws(StoreError) -> Int {
        try watch(.writing) { try store.dismissJournal(upTo: number) }
    }

    func restore(
        journal number: Int64, leaving left: LeftChanges, now: WallTime,
        newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] {
        try watch(.writing) { try store.restore(journal: number, leaving: left, now: now, newID: newID) }
    }

    func retry(
        journal number: Int64, now: WallTime, newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] {
        try watch(.writing) { try store.retry(journal: number, now: now, newID: newID) }
    }

    func commit(
        _ edits: [RecordEdit], seen: SeenFields, correcting correction: JournalCorrection, in space: SpaceID,
        now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try watch(.writing) { try store.commit(edits, seen: seen, correcting: correction, in: space, now: now) }
    }

    func dismiss(journal number: Int64) throws(StoreError) {
        try watch(.writing) { try store.dismiss(journal: number) }
    }

    // MARK: The engine's side

    func session() throws(StoreError) -> StoredSession {
        try watch(.reading) { try store.session() }
    }

    func takeBatch(_ limit: BatchLimit, now: WallTime) throws(StoreError) -> PushBatch? {
        try watch(.takingBatch) { try store.takeBatch(limit, now: now) }
    }

    func record(
        _ results: [TransactionResult], of identity: ClientIdentity, now: WallTime
    ) throws(StoreError) -> OutboxSummary {
        try watch(.recordingResults) { try store.record(results, of: identity, now: now) }
    }

    func withdraw(
        _ number: TransactionNumber, of identity: ClientIdentity, because rejection: Rejection
    ) throws(StoreError) -> OutboxSummary {
        try watch(.recordingResults) {
            try store.withdraw(number, of: identity, because: rejection)
        }
    }

    func apply(
        _ page: PullPage, after cursor: Cursor?, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> ApplyResult {
        let oracles: [any PageOracle] = [lostHistory, brakes]
        let comparisons = oracles.compactMap { oracle in
            inspect { try oracle.inspect(at: store, before: page, on: device) } ?? nil
        }
        let result = try watch(.applyingPage) {
            try store.apply(page, after: cursor, brake: brake, now: now)
        }
        for compare in comparisons { inspect { try compare(store) } }
        return result
    }

    /// Runs `body` without disk faults. Returns nil when the store cannot be read.
    ///
    /// A store that cannot be read belongs to a dead process, or the world's next check finds the error.
    @discardableResult
    private func inspect<Result>(_ body: () throws -> Result) -> Result? {
        do {
            return try disk.withoutFaults(body)
        } catch {
            return nil
        }
    }

    func resetCursor(of space: SpaceID) throws(StoreError) {
        try watch(.changingSession) { try store.resetCursor(of: space) }
    }

    func vacate(
        _ space: SpaceID, of epoch: Epoch, brake: DeleteBrake?, now: WallTime
    ) throws(StoreError) -> VacateResult {
        let compare = inspect { try brakes.inspect(at: store, beforeVacating: space, on: device) } ?? nil
        let result: VacateResult
        do throws(StoreError) {
            result = try watch(.changingSession) {
                try store.vacate(space, of: epoch, brake: brake, now: now)
            }
        } catch {
            // The change may have taken effect despite the error.
            journals.hasVacated(space, on: device)
            throw error
        }
        if case .vacated = result { journals.hasVacated(space, on: device) }
        if let compare { inspect { try compare(store) } }
        return result
    }

    func adopt(_ epoch: Epoch, as account: AccountID) throws(StoreError) -> StoredSession {
        let shown = inspect { try lostHistory.inspect(at: store, before: epoch) } ?? [:]
        let session = try watch(.changingSession) { try store.adopt(epoch, as: account) }
        lostHistory.adopted(shown, by: device)
        return session
    }

    func renewIdentity(as client: ClientID) throws(StoreError) -> StoredSession {
        try watch(.changingSession) { try store.renewIdentity(as: client) }
    }

    func observe(_ serverTime: HybridTime, now: WallTime) throws(StoreError) {
        try watch(.changingSession) { try store.observe(serverTime, now: now) }
    }

    func contact() throws(StoreError) -> ServerContact {
        try watch(.reading) { try store.contact() }
    }

    func note(_ news: ContactChange, now: WallTime) throws(StoreError) {
        try watch(.changingSession) { try store.note(news, now: now) }
    }

    func checkpoint() throws(StoreError) {
        let (flushes, faults) = (disk.count(of: .sync), disk.faultCount)
        try watch(.writing) { try store.checkpoint() }
        // The WAL is flushed before the first of its pages is copied into the database.
        if disk.count(of: .sync) > flushes, disk.faultCount == faults { observer.walFlushed(of: device) }
    }
}
