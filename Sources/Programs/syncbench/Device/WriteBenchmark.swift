import BenchmarkUsers
import CRawSQLite
import Dispatch
import Foundation
import SyncConcurrency
import SyncCore
import SyncModel
import SyncStoreSQLite

/// Local writes, each durable with its outbox entry before it returns.
///
/// The engine checkpoints after writes, so the loop does, too: both sides pay for their checkpoints.
struct WriteBenchmark {
    let settings: BenchmarkSettings
    private let now = DeviceDatabases.now

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() throws -> [Figure] {
        let databases = DeviceDatabases(settings: settings)
        let store = try databases.filled("normal")
        defer { store.close() }
        let raw = try databases.raw("raw-writes")
        defer { raw_close(raw) }
        let durable = try databases.filled("full", durability: .full)
        defer { durable.close() }

        let writes: Int64 = 5_000
        let fullWrites: Int64 = 320
        let bulk: Int64 = 10_000
        let batch = Int64(SchemaLimits.mutationsPerTransaction)
        let writers = 16
        var seed: UInt64 = 0
        func nextSeed() -> UInt64 {
            seed += 1_000_003
            return seed
        }
        return [
            try Comparison(
                row: .write, name: "durable local write with its outbox entry, NORMAL", size: settings.users,
                units: Int(writes), unit: "writes",
                basis: {
                    try Cost.of { try check(raw_write_with_outbox(raw, writes, 1, settings.rows, nextSeed())) }
                }, ours: { try measure(writes, batch: 1, in: store, seed: seed) }
            ).run(rounds: settings.rounds),
            try Comparison(
                row: .write, name: "durable local write with its outbox entry, FULL, beside an fdatasync of 4 KiB",
                size: settings.users, units: Int(fullWrites), unit: "writes", measure: .wall,
                basis: {
                    let path = settings.folder.appending(path: "appends-\(nextSeed())").path
                    return try Cost.of { try check(raw_fdatasync_appends(path, fullWrites)) }
                }, ours: { try measure(fullWrites, batch: 1, in: durable, seed: seed) }
            ).run(rounds: settings.rounds),
            try Comparison(
                row: .bulkWrite, name: "10,000 writes in transactions of 1,000, NORMAL", size: settings.users,
                units: Int(bulk), unit: "writes",
                basis: {
                    try Cost.of { try check(raw_write_with_outbox(raw, bulk, batch, settings.rows, nextSeed())) }
                }, ours: { try measure(bulk, batch: batch, in: store, seed: seed) }
            ).run(rounds: settings.rounds),
            try Comparison(
                row: .bulkWrite, name: "16 concurrent writers, FULL, beside one writer", size: settings.users,
                units: Int(fullWrites), unit: "writes", measure: .wall,
                basis: { try measure(fullWrites, batch: 1, in: durable, seed: nextSeed()) },
                ours: { try measureConcurrently(fullWrites, writers: writers, in: durable, seed: nextSeed()) }
            ).run(rounds: settings.rounds),
        ]
    }

    private func measure(_ count: Int64, batch: Int64, in store: SQLiteStore, seed: UInt64) throws -> Cost {
        let cost = try Cost.of { try write(0..<count, batch: batch, to: store, seed: seed) }
        try drain(store)
        return cost
    }

    /// Writes from several threads at once. Only one of them checkpoints, as the engine does.
    private func measureConcurrently(
        _ count: Int64, writers: Int, in store: SQLiteStore, seed: UInt64
    ) throws -> Cost {
        let each = count / Int64(writers)
        let failures = Guarded<[String]>([])
        let cost = Cost.of {
            let group = DispatchGroup()
            for writer in 0..<Int64(writers) {
                group.enter()
                Thread {
                    defer { group.leave() }
                    do {
                        try write(
                            writer * each..<(writer + 1) * each, batch: 1, to: store, seed: seed,
                            checkpoints: writer == 0)
                    } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }.start()
            }
            group.wait()
        }
        if let failure = failures.withLock({ $0.first }) { throw BenchmarkError(failure) }
        try drain(store)
        return cost
    }

    /// Updates two fields of one user per index. Each `batch` updates are one transaction.
    private func write(
        _ indices: Range<Int64>, batch: Int64, to store: SQLiteStore, seed: UInt64, checkpoints: Bool = true
    ) throws {
        var edits: [RecordEdit] = []
        for index in indices {
            let uid = Int64(SimulatedUsers.mix(seed &+ UInt64(index)) % UInt64(settings.rows))
            let patch: Patch = ["display_name": .text("Renamed \(index) \(seed)"), "updated_at": .integer(index)]
            edits.append(.update("user", SimulatedUsers.id(uid), patch))
            guard edits.count == batch || index == indices.upperBound - 1 else { continue }
            guard try store.commit(edits, in: .default, now: now) != nil else {
                throw BenchmarkError("a write that changed nothing was measured")
            }
            edits.removeAll(keepingCapacity: true)
            if checkpoints { try store.checkpoint() }
        }
    }

    /// Empties the outbox by rejecting every transaction, and dismisses the journal entries about them, which would
    /// otherwise fill the journal.
    private func drain(_ store: SQLiteStore) throws {
        while let batch = try store.takeBatch(
            BatchLimit(transactions: 1_000, bytes: 8_000_000), now: WallTime(milliseconds: 0))
        {
            let rejection = Rejection(code: .malformed, message: "benchmark", mutation: nil)
            _ = try store.record(
                batch.transactions.map { TransactionResult(number: $0.number, outcome: .rejected(rejection)) },
                of: batch.identity, now: now)
        }
        _ = try store.dismissJournal(upTo: .max)
        try store.checkpoint()
    }
}
