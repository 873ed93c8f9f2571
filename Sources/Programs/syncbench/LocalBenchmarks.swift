import CRawSQLite
import Foundation
import SyncCore
import SyncModel
import SyncObjects
import SyncRuntimeLive
import SyncStoreSQLite
import TomboloCommunity

/// Compares the local store with the same work in C: on SQLite's API, and for durable writes, on a file.
struct LocalBenchmarks {
    let folder: URL
    let rows: Int64
    let now = WallTime(milliseconds: 1_800_000_000_000)

    func run(rounds: Int) throws -> [Row] {
        let store = try filledStore(durability: .normal)
        defer { store.close() }
        let raw = try rawDatabase()
        defer { raw_close(raw) }
        let members = try communityStore()
        defer { members.close() }
        let community = Community.cached(store: members, runtime: .live())
        let durable = try filledStore(durability: .full)
        defer { durable.close() }

        let writes: Int64 = 5_000
        let reads: Int64 = 50_000
        let fullWrites: Int64 = 300
        var seed: UInt64 = 0
        return [
            try Comparison(
                name: "durable local write with its outbox entry, NORMAL", units: Int(writes), unit: "writes",
                floor: {
                    seed += 1_000_003
                    return try Cost.of { try check(raw_write_with_outbox(raw, writes, rows, seed)) }
                }, ours: { try write(writes, to: store, seed: seed) }
            ).run(rounds: rounds),
            try Comparison(
                name: "the same at FULL, beside an fdatasync of 4 KiB", units: Int(fullWrites), unit: "writes",
                basis: .wall,
                floor: {
                    seed += 1_000_003
                    let path = folder.appending(path: "floor-\(seed)").path
                    return try Cost.of { try check(raw_fdatasync_appends(path, fullWrites)) }
                }, ours: { try write(fullWrites, to: durable, seed: seed) }
            ).run(rounds: rounds),
            try Comparison(
                name: "point read by uid from SQLite", units: Int(reads), unit: "reads",
                floor: {
                    seed += 1_000_003
                    return Cost.of { _ = raw_point_reads(raw, reads, rows, seed) }
                }, ours: { try read(reads, from: store, seed: seed) }
            ).run(rounds: rounds),
            try Comparison(
                name: "the same through the model protocol, each user a new live object", units: Int(reads),
                unit: "reads",
                floor: {
                    seed += 1_000_003
                    return Cost.of { _ = raw_point_reads(raw, reads, rows, seed) }
                }, ours: { try read(reads, from: community, seed: seed) }
            ).run(rounds: rounds),
        ]
    }

    // MARK: The local store

    private func write(_ count: Int64, to store: SQLiteStore, seed: UInt64) throws -> Cost {
        let cost = try Cost.of {
            for index in 0..<count {
                let uid = Int64(SimulatedUsers.mix(seed &+ UInt64(index)) % UInt64(rows))
                let patch: Patch = ["display_name": .text("Renamed \(index) \(seed)"), "updated_at": .integer(index)]
                let sequence = try store.commit(
                    [.update("user", SimulatedUsers.id(uid), patch)], in: .default, now: now)
                if sequence == nil { throw BenchmarkError("a write that changed nothing was measured") }
            }
        }
        try drain(store)
        return cost
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

    private func read(_ count: Int64, from store: SQLiteStore, seed: UInt64) throws -> Cost {
        var length = 0
        let cost = try Cost.of {
            for index in 0..<count {
                let uid = Int64(SimulatedUsers.mix(seed &+ UInt64(index)) % UInt64(rows))
                guard let record = try store.record("user", .uid(UID(uid))), case .text(let name) = record.values[0]
                else { throw BenchmarkError("user \(uid) was not found") }
                length += name.utf8.count
            }
        }
        guard length > 0 else { throw BenchmarkError("nothing was read") }
        return cost
    }

    private func read(_ count: Int64, from community: Community, seed: UInt64) throws -> Cost {
        var length = 0
        let cost = try Cost.of {
            for index in 0..<count {
                let uid = Int(SimulatedUsers.mix(seed &+ UInt64(index)) % UInt64(rows))
                length += try community.users.user(uid: uid).username.utf8.count
            }
        }
        guard length > 0 else { throw BenchmarkError("nothing was read") }
        return cost
    }

    /// Returns a local store filled with users of `TomboloCommunity`.
    private func communityStore() throws -> SQLiteStore {
        try store(named: "members", catalog: CommunityCatalog.catalog, durability: .normal) { uid in
            Record(
                id: SimulatedUsers.id(uid), uid: UID(uid), version: Version(1),
                creating: ["username": .text("user\(uid)")],
                schema: UserSchema.schema)
        }
    }

    private func filledStore(durability: Durability) throws -> SQLiteStore {
        try store(named: "store-\(durability.rawValue)", catalog: SimulatedUsers.catalog, durability: durability) {
            SimulatedUsers.record($0, version: Version(1))
        }
    }

    private func store(
        named name: String, catalog: SchemaCatalog, durability: Durability,
        _ record: (Int64) -> Record
    ) throws -> SQLiteStore {
        var configuration = StoreConfiguration(file: folder.appending(path: "\(name)/cache.db").path)
        configuration.durability = durability
        var random = SystemRandomNumberGenerator()
        let store = try SQLiteStore.open(configuration, catalog: catalog, now: now, random: &random)
        let epoch = Epoch(rawValue: "benchmark")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "benchmark"))
        try store.follow(.default)
        var from: Int64 = 0
        while from < rows {
            let to = min(rows, from + 1_000)
            let page = PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .snapshot(
                    [
                        SnapshotRows(
                            collection: "user", records: (from..<to).map(record))
                    ],
                    isFirst: from == 0, isLast: to == rows),
                cursor: Cursor(rawValue: "\(to)"), version: Version(rows), head: Version(rows),
                hasMore: to < rows)
            _ = try store.apply(
                page, after: from == 0 ? nil : Cursor(rawValue: "\(from)"), brake: nil, now: now)
            from = to
        }
        return store
    }

    private func rawDatabase() throws -> OpaquePointer {
        guard let database = raw_open(folder.appending(path: "raw.db").path, 0) else {
            throw BenchmarkError("the raw database could not be opened in \(folder.path)")
        }
        try check(raw_load(database, 0, rows, 1_000))
        return database
    }

    private func check(_ status: Int32) throws {
        guard status == 0 else { throw BenchmarkError("the raw SQLite program failed") }
    }
}

/// The error of a benchmark that did not measure the intended work.
struct BenchmarkError: Error, CustomStringConvertible {
    let description: String

    init(_ words: String) {
        description = words
    }
}
