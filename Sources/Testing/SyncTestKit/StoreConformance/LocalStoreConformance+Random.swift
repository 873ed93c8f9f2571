import SyncCore
import SyncModel
import SyncSimulation

// Random histories, compared with a naive model of the store.
extension LocalStoreConformance {
    var randomChecks: [Check] {
        (1...6).map { seed in
            Check("random history \(seed) equals the naive model after each step") { fixture in
                var history = RandomHistory(fixture: fixture, seed: UInt64(seed))
                try history.run(steps: 120)
            }
        }
    }
}

/// A minimal server, another device, and a store. A seed decides every step.
private struct RandomHistory<Store: LocalStore & EngineStore> {
    let fixture: StoreFixture<Store>
    var random: SeededRandom
    /// The server's live records.
    var server: [RecordID: Record] = [:]
    var dead: Set<RecordID> = []
    var commits: [Commit] = []
    var nextUID: Int64 = 0
    var outcomes: [TransactionNumber: Outcome] = [:]
    /// The records that the store has been shown, up to `cursor`.
    var shown: [RecordID: Record] = [:]
    var shownDead: Set<RecordID> = []
    var cursor = 0
    var known: [RecordID] = []

    init(fixture: StoreFixture<Store>, seed: UInt64) {
        self.fixture = fixture
        random = SeededRandom(seed: seed, stream: "history")
    }

    static var users: ModelSchema {
        StoreFixture<Store>.catalog["users"] ?? ModelSchema(collection: "users", fields: [])
    }

    mutating func run(steps: Int) throws {
        try fixture.sendHello()
        for step in 0..<steps {
            switch random.below(12) {
            case 0, 1, 2, 3: try write()
            case 4, 5: otherDevice()
            case 6, 7: try push()
            case 8: try responseLate()
            case 9: try cancel()
            default: try pull()
            }
            try compare(step)
        }
        // Everything is confirmed and shown in the end.
        for _ in 0..<400 where try fixture.store.outboxSummary().count > 0 || cursor < commits.count {
            try push(loses: false)
            try pull(loses: false)
        }
        try fixture.expect(try fixture.store.outboxSummary().count, is: 0, "the outbox at the end")
        try compare(steps)
        let rows = try fixture.store.records(matching: RecordQuery("users"))
        try fixture.expect(
            rows.map { $0.id }, is: server.keys.sorted(), "the records at the end")
        for row in rows { try fixture.expect(row, is: server[row.id] ?? row, "a record at the end") }
    }

    mutating func write() throws {
        let name = FieldValue.text("n\(random.below(5))")
        switch random.below(5) {
        case 0:
            let id = fixture.id()
            known.append(id)
            try fixture.commit(.create("users", id, ["username": name]))
        case 1, 2, 3:
            guard let id = try anyone() else { return }
            let patch: Patch =
                random.below(2) == 0 ? ["username": name] : ["age": .integer(Int64(random.below(9)))]
            try fixture.commit(.update("users", id, patch))
        default:
            guard let id = try anyone() else { return }
            try fixture.commit(.delete("users", id))
        }
    }

    mutating func anyone() throws -> RecordID? {
        let rows = try fixture.store.records(matching: RecordQuery("users"))
        return rows.isEmpty ? nil : rows[random.below(rows.count)].id
    }

    mutating func otherDevice() {
        let ids = server.keys.sorted()
        let id: RecordID
        let effect: RecordChange.Effect
        if ids.isEmpty || random.below(3) == 0 {
            id = fixture.id()
            nextUID += 1
            effect = .created(uid: UID(nextUID), ["username": .text("o\(random.below(5))")])
        } else {
            id = ids[random.below(ids.count)]
            effect = random.below(4) == 0 ? .deleted : .updated(["username": .text("o\(random.below(5))")])
        }
        commit([RecordChange(collection: "users", id: id, effect: effect)])
    }

    mutating func commit(_ changes: [RecordChange]) {
        let commit = Commit(version: Version(Int64(commits.count + 1)), changes: changes)
        commits.append(commit)
        Self.apply(commit, to: &server, &dead)
    }

    static func apply(_ commit: Commit, to records: inout [RecordID: Record], _ dead: inout Set<RecordID>) {
        for change in commit.changes {
            records[change.id] = change.applied(to: records[change.id], at: commit.version, schema: users)
            if change.effect == .deleted { dead.insert(change.id) }
        }
    }

    /// Sends a batch. The server's response may be lost on its way.
    mutating func push(loses: Bool = true) throws {
        guard
            let batch = try fixture.store.takeBatch(
                BatchLimit(transactions: 1 + random.below(4), bytes: 100_000), now: fixture.now())
        else {
            return
        }
        var results: [TransactionResult] = []
        for numbered in batch.transactions {
            let outcome = outcomes[numbered.number] ?? decide(numbered.transaction, mayRefuse: loses)
            outcomes[numbered.number] = outcome
            results.append(TransactionResult(number: numbered.number, outcome: outcome))
        }
        if loses && random.below(3) == 0 { return }
        _ = try fixture.store.record(results, of: batch.identity, now: fixture.now())
    }

    mutating func decide(_ transaction: Transaction, mayRefuse: Bool) -> Outcome {
        let refusal = Outcome.rejected(Rejection(code: .forbidden, message: "no", mutation: nil))
        if mayRefuse && random.below(5) == 0 { return refusal }
        var changes: [RecordChange] = []
        var uids: [AssignedUID] = []
        for mutation in transaction.mutations {
            switch mutation.intent {
            case .create(let patch):
                nextUID += 1
                uids.append(AssignedUID(collection: "users", record: mutation.record, uid: UID(nextUID)))
                changes.append(
                    RecordChange(
                        collection: "users", id: mutation.record, effect: .created(uid: UID(nextUID), patch)))
            case .update:
                guard server[mutation.record] != nil else { return refusal }
                changes.append(
                    RecordChange(collection: "users", id: mutation.record, effect: .updated(mutation.patch)))
            case .delete:
                guard server[mutation.record] != nil else { return refusal }
                changes.append(RecordChange(collection: "users", id: mutation.record, effect: .deleted))
            }
        }
        commit(changes)
        return .applied(version: Version(Int64(commits.count)), uids: uids, conflicts: [])
    }

    /// Delivers the response to an earlier transaction again.
    mutating func responseLate() throws {
        let numbers = outcomes.keys.sorted()
        guard !numbers.isEmpty else { return }
        let number = numbers[random.below(numbers.count)]
        guard let outcome = outcomes[number] else { return }
        _ = try fixture.store.record(
            [TransactionResult(number: number, outcome: outcome)], of: try fixture.store.session().identity,
            now: fixture.now())
    }

    mutating func cancel() throws {
        let waiting = try fixture.store.outbox(limit: 1_000).filter { $0.state == .waiting }
        guard !waiting.isEmpty, random.below(2) == 0 else { return }
        try fixture.store.cancel(waiting[random.below(waiting.count)].sequence, now: fixture.now())
    }

    /// Applies a page, sometimes one that was applied before.
    mutating func pull(loses: Bool = true) throws {
        let from = loses && random.below(4) == 0 ? random.below(cursor + 1) : cursor
        let to = min(from + 1 + random.below(3), commits.count)
        guard to > 0, from < to else { return }
        try fixture.pull(fixture.feed(Array(commits[from..<to]), to: Int64(to), head: Int64(commits.count)))
        while cursor < to {
            Self.apply(commits[cursor], to: &shown, &shownDead)
            cursor += 1
        }
    }

    /// Compares the store with the records shown, to which this function applies the entries read from the outbox.
    func compare(_ step: Int) throws {
        let entries = try fixture.store.outbox(limit: 10_000)
        var pending: [RecordID: [Mutation]] = [:]
        for entry in entries {
            for mutation in entry.transaction.mutations { pending[mutation.record, default: []].append(mutation) }
        }
        var expected: [RecordID: [FieldValue]] = [:]
        for id in Set(shown.keys).union(pending.keys) where !shownDead.contains(id) {
            expected[id] =
                Overlay.current(base: shown[id], applying: pending[id] ?? [], schema: Self.users)?.values
        }
        let rows = try fixture.store.records(matching: RecordQuery("users"))
        try fixture.expect(rows.map(\.id), is: expected.keys.sorted(), "the records after step \(step)")
        for row in rows {
            try fixture.expect(row.values, is: expected[row.id] ?? [], "record \(row.id) after step \(step)")
            try fixture.expect(
                try fixture.store.isPending("users", row.id), is: pending[row.id] != nil,
                "isPending of \(row.id) after step \(step)")
        }
        var counted = OutboxSummary(
            activeJournalEntries: try fixture.store.journal(state: .active, limit: 10_000).count)
        for entry in entries {
            switch entry.state {
            case .waiting: counted.waiting += 1
            case .sent: counted.sent += 1
            case .answered: counted.answered += 1
            }
        }
        var summary = try fixture.store.outboxSummary()
        try fixture.expect((summary.bytes > 0) == !entries.isEmpty, "the bytes after step \(step) are \(summary.bytes)")
        summary.bytes = 0
        try fixture.expect(summary, is: counted, "the summary after step \(step)")
    }
}
