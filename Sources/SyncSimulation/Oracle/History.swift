import SyncAuthority
import SyncConcurrency
import SyncCore
import SyncModel

/// What the world has seen: which transactions reached the server and what became of them, and what devices were
/// told to be safe. Kept outside of all parts under test.
final class History: ServerWitness, DeviceWitness {
    /// The idempotency key of a transaction.
    struct Operation: Hashable, Comparable, Sendable, CustomStringConvertible {
        let identity: ClientIdentity
        let number: MutationNumber

        static func < (left: Operation, right: Operation) -> Bool {
            (left.identity.client, left.identity.incarnation, left.number)
                < (right.identity.client, right.identity.incarnation, right.number)
        }

        var description: String { "\(identity)#\(number)" }
    }

    fileprivate struct Sent: Sendable {
        var transaction: NumberedTransaction
        /// What else came under the same number before it was known what became of the first, and when it came last.
        var others: [(transaction: NumberedTransaction, now: WallTime)] = []
        let device: String
        /// The clock of the server, when it may have been applied.
        var now: WallTime
        var outcome: Outcome?
    }

    fileprivate struct State: Sendable {
        var sent: [Operation: Sent] = [:]
        let violations: ViolationLog
        /// What each device has been told to be committed and is not yet known to have arrived.
        var owed: [String: [OutboxSequence: Owed]] = [:]
        /// Applied operations of each space, in the order of their versions, as far as they are known without a gap.
        var replays: [SpaceID: Replay]
        var applied: [SpaceID: [Version: [Operation]]] = [:]
        var uids: [CollectionName: [UID: RecordID]] = [:]
        /// What users have taken back.
        var cancelled: [String: Set<OutboxSequence>] = [:]
        /// What users have read in their journals before they dealt with it: it may be forgotten then.
        var seen: [String: [JournalEntry]] = [:]
        /// The newest commit of each device, and the newest that no loss of power can take back.
        var newest: [String: OutboxSequence] = [:]
        var flushed: [String: OutboxSequence] = [:]
        /// What was applied, and lost with a server that was restored: also of devices that only an old image of a disk
        /// brings back.
        var lost: Set<Operation> = []
        /// What a server had answered may be forgotten since a restore: outcomes are then no proof any more.
        var wasRestored = false
    }

    fileprivate struct Owed: Sendable {
        /// As what it was sent last, and with which contents: after a disk was rolled back, a number may have been that of
        /// another transaction before.
        var operation: Operation?
        var hash: PayloadHash?
    }

    /// The naive model at each version.
    fileprivate struct Replay: Sendable {
        var models: [NaiveModel]
        var head: Version { Version(Int64(models.count - 1)) }
    }

    private let state: Guarded<State>
    /// The server's history; devices that live in another one are not compared with it.
    private let currentEpoch = Guarded<Epoch?>(nil)
    private let catalog: SchemaCatalog

    init(catalog: SchemaCatalog, spaces: [SpaceID], violations: ViolationLog) {
        self.catalog = catalog
        state = Guarded(
            State(
                violations: violations,
                replays: Dictionary(
                    uniqueKeysWithValues: spaces.map { ($0, Replay(models: [NaiveModel(catalog: catalog)])) })))
    }

    // MARK: The server's side

    func pushArrived(_ request: PushRequest, of bytes: Int, from device: String, now: WallTime) {
        state.withLock { state in
            for numbered in request.transactions {
                let operation = Operation(identity: request.identity, number: numbered.number)
                if let earlier = state.sent[operation] {
                    // The same number with other contents is noticed by the server (I16): see `pushAnswered`.
                    guard earlier.outcome == nil else { continue }
                    if earlier.transaction == numbered {
                        state.sent[operation]?.now = now
                    } else if let place = earlier.others.firstIndex(where: { $0.transaction == numbered }) {
                        state.sent[operation]?.others[place].now = now
                    } else {
                        state.sent[operation]?.others.append((numbered, now))
                    }
                } else {
                    state.sent[operation] = Sent(transaction: numbered, device: device, now: now)
                }
            }
        }
    }

    func pushFailed(_ request: PushRequest, _ failure: AuthorityFailure) {}
    func pullAnswered(_ request: PullRequest, _ reply: PullReply, to device: String) {}
    func served(_ caller: Caller, on device: String) {}
    func unreadable(_ error: any Error, on device: String) {}
    func sessionChanged(_ session: StoredSession, of device: String) {}
    func pushRefused(_ refusal: PushRefusal, of device: String) {}
    func pageRefused(_ failure: StoreFailure, by device: String) {}

    func pushAnswered(_ request: PushRequest, _ reply: PushReply, now: WallTime) {
        guard case .answered(let results, _, _) = reply else { return }
        state.withLock { state in
            for (position, result) in results.enumerated() {
                guard position < request.transactions.count, request.transactions[position].number == result.number
                else {
                    state.violations.report(
                        Violation(.I3, "the answer to \(result.number) is not in the request's order"))
                    continue
                }
                let operation = Operation(identity: request.identity, number: result.number)
                guard var sent = state.sent[operation] else { continue }
                if sent.transaction != request.transactions[position] {
                    guard sent.outcome == nil else {
                        state.violations.report(
                            Violation(
                                .I16, "\(operation) came with other contents, and was answered as if it were the same")
                        )
                        continue
                    }
                    // The first one under this number has come to nothing.
                    sent = Sent(transaction: request.transactions[position], device: sent.device, now: now)
                    state.sent[operation] = sent
                }
                if let earlier = sent.outcome {
                    if earlier != result.outcome {
                        state.violations.report(
                            Violation(.I2, "\(operation) was first \(earlier), then \(result.outcome)"))
                    }
                    continue
                }
                state.sent[operation]?.outcome = result.outcome
                state.note(result.outcome, of: operation, sent.transaction.transaction)
            }
            state.replay()
        }
    }

    /// Finds out what became of transactions whose answers were never given: the server may have died over them, and
    /// their senders may never ask again.
    ///
    /// - Parameter outcome: what the server's ledger holds.
    func settle(_ outcome: (WorldParts.Sender) throws -> (hash: PayloadHash, outcome: Outcome)?) rethrows {
        let open = state.withLock { state in
            state.sent.filter { $0.value.outcome == nil }.map { ($0.key, $0.value.device) }
        }
        // Each look reads from the server's disk, whose operations are part of the trace: their order is not to be chance.
        let sorted = open.sorted { $0.0 < $1.0 }
        for (operation, device) in sorted {
            let sender = WorldParts.Sender(
                principal: Principal(name: device), identity: operation.identity, number: operation.number)
            guard let (hash, outcome) = try outcome(sender) else { continue }
            state.withLock { state in
                guard let sent = state.sent[operation],
                    let (transaction, now) = ([(sent.transaction, sent.now)] + sent.others).first(where: {
                        $0.0.hash == hash
                    })
                else { return }
                state.sent[operation]?.now = now
                state.sent[operation]?.transaction = transaction
                state.sent[operation]?.outcome = outcome
                state.note(outcome, of: operation, transaction.transaction)
            }
        }
        state.withLock { $0.replay() }
    }

    // MARK: The devices' side

    func batchTaken(_ batch: PushBatch, by device: String, among numbered: [OutboxEntry]) {
        let sent = Dictionary(batch.transactions.map { ($0.number, $0) }) { $1 }
        state.withLock { state in
            for entry in numbered {
                // Another engine may have taken a batch since, as someone else.
                guard case .sent(let number, _) = entry.state, let pushed = sent[number],
                    pushed.transaction == entry.transaction, state.owed[device]?[entry.sequence] != nil
                else { continue }
                state.owed[device]?[entry.sequence] = Owed(
                    operation: Operation(identity: batch.identity, number: number), hash: pushed.hash)
            }
        }
    }

    /// A local commit has returned: the transaction must not be lost any more.
    func committed(_ sequence: OutboxSequence, on device: String) {
        state.withLock { state in
            state.owed[device, default: [:]][sequence] = Owed()
            state.newest[device] = max(state.newest[device] ?? sequence, sequence)
        }
    }

    /// The user has taken these back.
    func cancelled(_ sequences: Set<OutboxSequence>, on device: String) {
        state.withLock { $0.cancelled[device, default: []].formUnion(sequences) }
    }

    /// The user has read an entry of the journal, and is about to deal with it.
    func saw(_ entry: JournalEntry, on device: String) {
        state.withLock { $0.seen[device, default: []].append(entry) }
    }

    var epoch: Epoch? {
        get { currentEpoch.withLock { $0 } }
        set { currentEpoch.withLock { $0 = newValue } }
    }

    /// What is known of the server at this moment, to be put back with a backup.
    var memory: Memory {
        state.withLock { state in
            Memory(
                replays: state.replays, applied: state.applied, uids: state.uids,
                answered: state.sent.filter { $0.value.outcome != nil })
        }
    }

    /// The server has been restored from a backup. What it has applied since then is lost, and devices that were
    /// told so cannot be blamed: that loss is permitted, and only that.
    func rollBack(to memory: Memory) {
        state.withLock { state in
            for (operation, sent) in state.sent {
                if case .applied? = sent.outcome { state.lost.insert(operation) }
                // Also what another history has answered otherwise meanwhile.
                if let known = memory.answered[operation] {
                    state.sent[operation]?.transaction = known.transaction
                    state.sent[operation]?.outcome = known.outcome
                } else {
                    state.sent[operation]?.outcome = nil
                }
            }
            state.replays = memory.replays
            state.applied = memory.applied
            state.uids = memory.uids
            state.wasRestored = true
        }
    }

    struct Memory: Sendable {
        fileprivate let replays: [SpaceID: Replay]
        fileprivate let applied: [SpaceID: [Version: [Operation]]]
        fileprivate let uids: [CollectionName: [UID: RecordID]]
        fileprivate let answered: [Operation: Sent]
    }

    /// What a device owes at this moment, to be put back with an old image of its disk.
    func debts(of device: String) -> Debts {
        state.withLock { state in
            Debts(
                owed: state.owed[device] ?? [:], cancelled: state.cancelled[device] ?? [],
                seen: state.seen[device] ?? [])
        }
    }

    /// The device's disk has been rolled back: what it was told since then is lost, but for what the server has.
    func rollBack(_ device: String, to debts: Debts) {
        state.withLock { state in
            state.owed[device] = debts.owed
            state.seen[device] = debts.seen
            state.newest[device] = nil
            state.flushed[device] = nil
            state.cancelled[device] = debts.cancelled
        }
    }

    func logFlushed(of device: String) {
        state.withLock { $0.flushed[device] = $0.newest[device] }
    }

    /// A device that does not flush each commit has lost power. What it committed behind `last` is lost, and that loss is
    /// permitted, and only that; what it had forgotten for good reasons may be back.
    ///
    /// - Parameters:
    ///   - identity: who it is now.
    ///   - last: the newest commit that its file knows of.
    ///   - entries: what is in its outbox now.
    /// - Returns: how many commits are lost.
    func losePower(
        _ device: String, as identity: ClientIdentity, keeping last: OutboxSequence, among entries: [OutboxEntry]
    ) throws(Violation) -> Int {
        try state.withLock { state throws(Violation) in
            if let flushed = state.flushed[device], flushed > last {
                throw Violation(
                    .I1, "\(device) lost power, and only knows of its commits up to \(last); \(flushed) was flushed")
            }
            let before = state.owed[device] ?? [:]
            var owed = before.filter { $0.key <= last }
            for entry in entries { owed[entry.sequence] = state.debt(of: entry, as: identity) }
            state.owed[device] = owed
            state.newest[device] = last
            state.cancelled[device]?.formIntersection(owed.keys)
            // Of what is to be sent again, the server may say otherwise.
            let unanswered = Set(
                entries.filter { if case .answered = $0.state { false } else { true } }.map(\.sequence))
            state.seen[device]?.removeAll { entry in
                entry.sequence.map { $0 > last || unanswered.contains($0) } ?? false
            }
            return before.count { $0.key > last }
        }
    }

    struct Debts: Sendable {
        fileprivate let owed: [OutboxSequence: Owed]
        fileprivate let cancelled: Set<OutboxSequence>
        fileprivate let seen: [JournalEntry]
    }

    /// Checks one device against all that it was told and all that the server has done.
    ///
    /// - Parameter entries: the whole outbox.
    /// - Returns: whether all could be checked; not so while it is not known what the server has done.
    func check(
        _ device: String, _ store: any LocalStore & EngineStore, sending entries: [OutboxEntry]
    ) throws -> Bool {
        let session = try store.session()
        let isOfThisEpoch = session.epoch == epoch
        // A journal grows long; here it is asked what became of that which has left the outbox.
        let settled = state.withLock { $0.settled(device, entries) }
        let journal = settled.isEmpty ? [] : try store.journal(state: nil, limit: .max)
        return try state.withLock { state in
            var isCertain = true
            try state.check(settled, of: device, journal)
            for stored in session.spaces where stored.isComplete {
                guard isOfThisEpoch, let replay = state.replays[stored.space], stored.version <= replay.head else {
                    isCertain = false
                    continue
                }
                let model = replay.models[Int(stored.version.rawValue)]
                let pending = entries.map(\.transaction).filter { $0.space == stored.space }
                if let difference = model.difference(try Self.records(of: store, catalog), over: pending) {
                    throw Violation(.I5, "\(device) at version \(stored.version): \(difference)")
                }
            }
            return isCertain
        }
    }

    /// A device must not believe to have seen a newer field than it has: its edit would win over what it never saw.
    func check(_ facts: ReplicaFacts, of device: String, at version: Version) throws(Violation) {
        try state.withLock { state throws(Violation) in
            guard let replay = state.replays.first?.value, version <= replay.head else { return }
            let model = replay.models[Int(version.rawValue)]
            var wrong: [String] = []
            for (place, row) in model.rows {
                guard let base = facts.bases[place.collection]?[place.id] else { continue }
                for (position, known) in row.versions.enumerated() where base.version(at: position) != known {
                    wrong.append(
                        "field \(position) of \(place) as of version \(base.version(at: position)), not \(known)")
                }
            }
            if let first = wrong.min() { throw Violation(.I7, "\(device) has \(first)") }
        }
    }

    private static func records(
        of store: any LocalStore, _ catalog: SchemaCatalog
    ) throws -> [CollectionName: [Record]] {
        var records: [CollectionName: [Record]] = [:]
        for schema in catalog.models {
            records[schema.collection] = try store.records(matching: RecordQuery(schema.collection))
        }
        return records
    }

    /// How many operations the server is known to have applied, and the head that follows from them.
    func head(of space: SpaceID) -> Version {
        state.withLock { $0.replays[space]?.head ?? .zero }
    }

    /// Checks what the server shows as the whole of a space at a version.
    func check(
        server records: [CollectionName: [Record]], of space: SpaceID, at version: Version
    ) throws(Violation) {
        try state.withLock { state throws(Violation) in
            guard let replay = state.replays[space], version == replay.head else {
                let known = state.replays[space]?.head ?? .zero
                throw Violation(.I5, "the server is at \(version) of \(space), but its answers account for \(known)")
            }
            for schema in catalog.models {
                for record in records[schema.collection] ?? [] {
                    if state.uids[schema.collection]?[record.uid] != record.id {
                        throw Violation(
                            .I13, "\(schema.collection) \(record.id) has uid \(record.uid), given to another")
                    }
                }
            }
            if let difference = replay.models[Int(version.rawValue)].difference(records, over: []) {
                throw Violation(.I5, "the server at version \(version): \(difference)")
            }
        }
    }

    /// Everything is quiet: nothing may be owed any more.
    func checkNothingIsOwed() throws(Violation) {
        try state.withLock { state throws(Violation) in
            for device in state.owed.keys.sorted() {
                let left = (state.owed[device] ?? [:]).keys.sorted()
                guard left.isEmpty else {
                    throw Violation(.I1, "\(device) still owes \(left.prefix(5)) after the end")
                }
            }
        }
    }
}

extension History.State {
    fileprivate mutating func note(_ outcome: Outcome, of operation: History.Operation, _ transaction: Transaction) {
        switch outcome {
        case .applied(let version, let assigned, _):
            applied[transaction.space, default: [:]][version, default: []].append(operation)
            // One that changed nothing that can be seen has no version of its own, and shares the newest one. It may
            // still have left a stamp, so what came after it is worked out again.
            if let replay = replays[transaction.space], version <= replay.head {
                replays[transaction.space]?.models.removeLast(replay.models.count - max(Int(version.rawValue), 1))
            }
            for given in assigned {
                if !given.uid.isValid {
                    violations.report(Violation(.I13, "\(given.record) was given the uid \(given.uid)"))
                } else if let other = uids[given.collection]?[given.uid], other != given.record {
                    violations.report(
                        Violation(
                            .I13, "\(given.collection) uid \(given.uid) was given to \(other) and \(given.record)"))
                }
                uids[given.collection, default: [:]][given.uid] = given.record
            }
        case .rejected(let rejection):
            if !History.honestReasons.contains(rejection.code) {
                violations.report(Violation(.I17, "\(operation) was rejected without cause: \(rejection.message)"))
            }
        }
    }

    /// Goes on with the naive model as far as every version is accounted for.
    fileprivate mutating func replay() {
        for space in replays.keys.sorted() {
            while let replay = replays[space], let operations = applied[space]?[replay.head.next],
                var model = replay.models.last
            {
                let version = replay.head.next
                for operation in operations {
                    guard let sent = sent[operation] else { continue }
                    let latest = sent.now.advanced(by: ModelLimits.permittedSkew)
                    do throws(Violation) {
                        try model.apply(
                            sent.transaction.transaction, by: operation.identity.client, at: version,
                            limit: HybridTime(wall: latest, counter: .max))
                        try model.checkReferences(after: sent.transaction.transaction, at: version)
                    } catch {
                        violations.report(error)
                    }
                }
                replays[space]?.models.append(model)
            }
        }
    }

    /// What is owed for an entry that is in an outbox, as its file tells.
    fileprivate func debt(of entry: OutboxEntry, as identity: ClientIdentity) -> History.Owed {
        let number: MutationNumber
        switch entry.state {
        case .waiting: return History.Owed()
        case .sent(let given, _), .answered(let given, _): number = given
        }
        let operation = History.Operation(identity: identity, number: number)
        guard let sent = sent[operation]?.transaction, sent.transaction == entry.transaction else {
            return History.Owed()
        }
        return History.Owed(operation: operation, hash: sent.hash)
    }

    /// What the server has made of it; nil when that is not known, or when it has seen another transaction under its number.
    private func outcome(of debt: History.Owed) -> Outcome? {
        guard let operation = debt.operation, let sent = sent[operation], sent.transaction.hash == debt.hash else {
            return nil
        }
        return sent.outcome
    }

    /// What is owed to a device and has left its outbox.
    fileprivate func settled(
        _ device: String, _ entries: [OutboxEntry]
    ) -> [(sequence: OutboxSequence, debt: History.Owed)] {
        guard let owed = owed[device], !owed.isEmpty else { return [] }
        let kept = Set(entries.map(\.sequence))
        return owed.filter { !kept.contains($0.key) }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    fileprivate mutating func check(
        _ settled: [(sequence: OutboxSequence, debt: History.Owed)], of device: String, _ journal: [JournalEntry]
    ) throws(Violation) {
        guard !settled.isEmpty else { return }
        var told: [OutboxSequence: [JournalEntry.Event]] = [:]
        for entry in journal + (seen[device] ?? []) {
            if let sequence = entry.sequence { told[sequence, default: []].append(entry.event) }
        }
        for (sequence, debt) in settled {
            let outcome = outcome(of: debt)
            try Settlement(
                device: device, sequence: sequence, operation: debt.operation, outcome: outcome,
                told: told[sequence] ?? []
            ).check(
                wasCancelled: cancelled[device]?.contains(sequence) ?? false, isCertain: !wasRestored)
            let isRefused = told[sequence]?.contains { if case .merged = $0 { false } else { true } } ?? false
            if isRefused {
                self.owed[device]?[sequence] = nil
            } else if case .applied? = outcome {
                self.owed[device]?[sequence] = nil
            } else if let operation = debt.operation, lost.contains(operation) {
                self.owed[device]?[sequence] = nil
            } else {
                throw Violation(
                    .I1,
                    "\(device) committed transaction \(sequence), which is in neither outbox nor journal, and the server has not applied it (\(debt.operation.map { "\($0)" } ?? "never sent"))"
                )
            }
        }
    }
}

extension History {
    /// The reasons for which the server may refuse what an honest device sends.
    fileprivate static let honestReasons: Set<RejectionCode> = [
        .recordDeleted, .missingRecord, .danglingReference, .stillReferenced,
    ]
}
