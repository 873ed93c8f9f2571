import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncCore
import SyncModel
import SyncObjects
import SyncRuntimeLive
import SyncStoreSQLite
import TomboloCommunity

/// Point reads: as a record, as a new live object, and of an object that the program holds.
struct ReadBenchmark {
    let settings: BenchmarkSettings

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() throws -> [Figure] {
        let databases = DeviceDatabases(settings: settings)
        let store = try databases.filled("reads")
        defer { store.close() }
        let members = try databases.filled("members", catalog: CommunityCatalog.catalog) { uid in
            Record(
                id: SimulatedUsers.id(uid), uid: UID(uid), version: Version(1),
                creating: ["username": .text("user\(uid)")], schema: UserSchema.schema)
        }
        defer { members.close() }
        let community = Community.cached(store: members, runtime: .live())
        let raw = try databases.raw("raw-reads")
        defer { raw_close(raw) }

        let reads: Int64 = 50_000
        var seed: UInt64 = 0
        func basis() -> Cost {
            seed += 1_000_003
            return Cost.of { _ = raw_point_reads(raw, reads, settings.rows, seed) }
        }
        func absolute(_ name: String, _ count: Int, _ body: (Int) throws -> Int) throws -> Figure {
            let rates = try (0..<settings.rounds).map { _ in
                var length = 0
                let cost = try Cost.of { for index in 0..<count { length += try body(index) } }
                guard length > 0 else { throw BenchmarkError("nothing was read") }
                return Double(count) / cost.cpuSeconds
            }
            return Figure(row: .read, name: name, size: settings.users, unit: "reads/cpu-s", ours: rates.median)
        }
        let read = [
            try Comparison(
                row: .read, name: "point read by uid from SQLite, as a record", size: settings.users,
                units: Int(reads), unit: "reads", basis: basis,
                ours: {
                    try measure(reads, seed) { uid in
                        guard let record = try store.record("user", .uid(UID(uid))),
                            case .text(let name) = record.values[0]
                        else { throw BenchmarkError("user \(uid) was not found") }
                        return name.utf8.count
                    }
                }
            ).run(rounds: settings.rounds),
            try Comparison(
                row: .read, name: "point read by uid as a new live object", size: settings.users, units: Int(reads),
                unit: "reads", basis: basis,
                ours: { try measure(reads, seed) { try community.users.user(uid: Int($0)).username.utf8.count } }
            ).run(rounds: settings.rounds),
        ]
        // From here on, the program holds some objects.
        let held = try (0..<min(1_000, Int(settings.rows))).map { try community.users.user(uid: $0) }
        let users = held.count
        return read + [
            try absolute("lookup by uid of a live object that the program holds", 200_000) { index in
                try community.users.user(uid: index % users).username.utf8.count
            },
            try absolute("property of a live object that the program holds", 1_000_000) { index in
                held[index % users].username.utf8.count
            },
        ]
    }

    private func measure(_ count: Int64, _ seed: UInt64, _ read: (Int64) throws -> Int) throws -> Cost {
        var length = 0
        let cost = try Cost.of {
            for index in 0..<count {
                length += try read(Int64(SimulatedUsers.mix(seed &+ UInt64(index)) % UInt64(settings.rows)))
            }
        }
        guard length > 0 else { throw BenchmarkError("nothing was read") }
        return cost
    }
}
