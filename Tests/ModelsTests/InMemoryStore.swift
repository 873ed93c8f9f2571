import SyncConcurrency
import SyncCore
import SyncModel
import SyncObjects
import TomboloCommunity
import TomboloModeling

/// A local store that keeps its records in memory, with methods that simulate the server.
final class InMemoryStore: LocalStore {
    private struct State: Sendable {
        var records: [CollectionName: [RecordID: Record]] = [:]
        var outbox: [OutboxEntry] = []
        var journal: [JournalEntry] = []
        var nextSequence: Int64 = 1
        var version = Version.zero
        var nextUID: [CollectionName: Int64] = [:]
        var reads = 0
        var failure: StoreError?
    }

    let catalog = CommunityCatalog.catalog
    let changes = Broadcast<StoreChange>()
    private let state = Guarded(State())

    var reads: Int { state.withLock { $0.reads } }

    func fail(with failure: StoreError?) {
        state.withLock { $0.failure = failure }
    }

    func record(_ collection: CollectionName, _ key: RecordKey) throws(StoreError) -> Record? {
        try state.withLock { (state) throws(StoreError) in
            if let failure = state.failure { throw failure }
            state.reads += 1
            return switch key {
            case .id(let id): state.records[collection]?[id]
            case .uid(let uid): state.records[collection]?.values.first { $0.uid == uid }
            }
        }
    }

    func shownRecord(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Record? {
        try record(collection, .id(id)).flatMap { $0.version > .zero ? $0 : nil }
    }

    func records(matching query: RecordQuery) throws(StoreError) -> [Record] {
        guard let schema = catalog[query.collection] else {
            throw StoreError(.unknownCollection, "there is no collection \(query.collection)")
        }
        let records = state.withLock { $0.records[query.collection] ?? [:] }
        return query.matches(among: records.values, schema: schema)
    }

    func count(matching query: RecordQuery) throws(StoreError) -> Int { try records(matching: query).count }

    func space(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> SpaceID? {
        try record(collection, .id(id)) == nil ? nil : .default
    }

    func replacement(of collection: CollectionName, _ id: RecordID) throws(StoreError) -> RecordID? { nil }

    func isPending(_ collection: CollectionName, _ id: RecordID) throws(StoreError) -> Bool {
        state.withLock { $0.outbox.contains { $0.transaction.mutations.contains { $0.record == id } } }
    }

    func commit(
        _ edits: [RecordEdit], seen: SeenFields, in space: SpaceID, now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        let time = HybridTime(wall: now)
        let (sequence, change) = try state.withLock { (state) throws(StoreError) in
            if let failure = state.failure { throw failure }
            var change = StoreChange(addsToOutbox: true)
            var mutations: [Mutation] = []
            for edit in edits {
                guard let schema = catalog[edit.collection] else {
                    throw StoreError(.unknownCollection, "there is no collection \(edit.collection)")
                }
                change.touch(edit.collection, edit.record)
                let intent: Mutation.Intent
                switch edit {
                case .create(let collection, let id, let patch):
                    state.records[collection, default: [:]][id] = Record(
                        id: id, uid: .none, version: .zero, creating: patch, schema: schema)
                    intent = .create(patch)
                case .update(let collection, let id, let patch):
                    let record = state.records[collection]?[id]
                    let version = max(state.version, record?.version ?? .zero)
                    state.records[collection]?[id] = record?.updated(by: patch, at: version, schema: schema)
                    intent = .update(
                        patch.map { FieldEdit(field: $0.field, value: $0.value, before: .null, seen: .zero) })
                case .delete(let collection, let id):
                    state.records[collection]?[id] = nil
                    intent = .delete(seen: .zero)
                }
                mutations.append(
                    Mutation(collection: edit.collection, record: edit.record, time: time, intent: intent))
            }
            let sequence = OutboxSequence(rawValue: state.nextSequence)
            state.nextSequence += 1
            state.outbox.append(
                OutboxEntry(
                    sequence: sequence, transaction: Transaction(space: space, mutations: mutations), state: .waiting))
            return (sequence, change)
        }
        changes.publish(change)
        return sequence
    }

    func droppedReferences() -> [DroppedReference] { [] }

    func followedSpaces() -> [StoredSpace] { [] }

    func progress() -> StoredProgress {
        StoredProgress(outbox: outboxSummary(), spaces: [], isBehind: false, contact: ServerContact())
    }

    func clients() -> [ClientID] { [] }

    func follow(_ space: SpaceID) -> Bool { false }

    func unfollow(_ space: SpaceID) -> Int? { nil }

    func outbox(after sequence: OutboxSequence?, limit: Int) -> [OutboxEntry] {
        state.withLock { state in
            Array(state.outbox.filter { entry in sequence.map { entry.sequence > $0 } ?? true }.prefix(limit))
        }
    }

    func outbox(limit: Int) -> [OutboxEntry] { outbox(after: nil, limit: limit) }

    func outboxSummary() -> OutboxSummary { OutboxSummary(waiting: state.withLock { $0.outbox.count }) }

    func fate(of sequence: OutboxSequence) throws(StoreError) -> TransactionFate {
        state.withLock { state in
            if let entry = state.outbox.first(where: { $0.sequence == sequence }) { return .pending(entry.state) }
            guard let entry = state.journal.first(where: { $0.sequence == sequence }) else { return .confirmed }
            if case .cancelled = entry.event { return .cancelled }
            return .rejected(entry)
        }
    }

    func cancel(_ sequence: OutboxSequence, now: WallTime) throws(StoreError) {
        takeBack(sequence, at: now) { .cancelled($0) }
    }

    func journal(state wanted: JournalEntry.State?, after number: Int64?, limit: Int) -> [JournalEntry] {
        state.withLock { $0.journal.filter { $0.number < number ?? .max } }
    }

    func rejectionCount() -> Int {
        state.withLock { state in
            state.journal.count { entry in
                if case .rejected = entry.event { entry.state == .active } else { false }
            }
        }
    }

    func journalEntry(_ number: Int64) -> JournalEntry? {
        state.withLock { $0.journal.first { $0.number == number } }
    }

    func dismissJournal(upTo number: Int64) throws(StoreError) -> Int { 0 }

    func restore(
        journal number: Int64, leaving left: LeftChanges, now: WallTime,
        newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] { [] }

    func retry(
        journal number: Int64, now: WallTime, newID: @escaping @Sendable () -> RecordID
    ) throws(StoreError) -> [OutboxSequence] { [] }

    func commit(
        _ edits: [RecordEdit], seen: SeenFields, correcting correction: JournalCorrection, in space: SpaceID,
        now: WallTime
    ) throws(StoreError) -> OutboxSequence? {
        try commit(edits, in: space, now: now)
    }

    func dismiss(journal number: Int64) throws(StoreError) {}

    // MARK: Simulation of the server

    /// Confirms the whole outbox. Each created record gets the next uid of its collection.
    func confirmAll() {
        let change = state.withLock { state in
            var change = StoreChange(removesFromOutbox: true)
            for entry in state.outbox {
                state.version = state.version.next
                for mutation in entry.transaction.mutations {
                    change.touch(mutation.collection, mutation.record)
                    guard case .create = mutation.intent else { continue }
                    let uid = state.nextUID[mutation.collection, default: 0]
                    state.nextUID[mutation.collection] = uid + 1
                    state.records[mutation.collection]?[mutation.record]?.uid = UID(uid)
                }
            }
            state.outbox = []
            return change
        }
        changes.publish(change)
    }

    func rejectAll(_ rejection: Rejection) {
        takeBack(at: WallTime(milliseconds: 0)) { .rejected($0, rejection) }
    }

    /// Moves an entry of the outbox, or all of them, to the journal.
    private func takeBack(
        _ sequence: OutboxSequence? = nil, at now: WallTime, event: @Sendable (Transaction) -> JournalEntry.Event
    ) {
        let change = state.withLock { state in
            var change = StoreChange(removesFromOutbox: true)
            for entry in state.outbox where entry.sequence == sequence ?? entry.sequence {
                for mutation in entry.transaction.mutations {
                    change.touch(mutation.collection, mutation.record)
                    if case .create = mutation.intent { state.records[mutation.collection]?[mutation.record] = nil }
                }
                state.journal.append(
                    JournalEntry(
                        number: Int64(state.journal.count), at: now, sequence: entry.sequence,
                        event: event(entry.transaction), state: .active))
            }
            state.outbox.removeAll { $0.sequence == sequence ?? $0.sequence }
            return change
        }
        changes.publish(change)
    }

    /// Simulates a pull of a record that another client has created or changed.
    func arrive(_ collection: CollectionName, _ record: Record) {
        state.withLock { $0.records[collection, default: [:]][record.id] = record }
        var change = StoreChange()
        change.touch(collection, record.id)
        changes.publish(change)
    }

    /// Simulates a pull of a deletion.
    func vanish(_ collection: CollectionName, _ id: RecordID) {
        state.withLock { $0.records[collection]?[id] = nil }
        var change = StoreChange()
        change.touch(collection, id)
        changes.publish(change)
    }
}
