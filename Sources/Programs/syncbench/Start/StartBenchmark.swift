import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncCore
import SyncModel
import SyncStoreSQLite

/// The start of a program on a device with many records and a long outbox: until the first read has returned.
///
/// The file is in the system's cache. The basis opens its database, prepares its statements, and reads one user.
struct StartBenchmark {
    let settings: BenchmarkSettings
    private static let entries: Int64 = 10_000

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() throws -> [Figure] {
        let databases = DeviceDatabases(settings: settings)
        let path = try databases.path("start")
        try fill(databases)
        raw_close(try databases.raw("raw-start"))
        return [
            try Comparison(
                row: .start, name: "open the database with 10,000 outbox entries, and read one user",
                size: settings.users, units: 1, unit: "starts", measure: .latency,
                basis: {
                    var raw: OpaquePointer?
                    defer { raw_close(raw) }
                    return try Cost.of {
                        raw = try databases.raw("raw-start", isEmpty: true)
                        guard raw_point_reads(raw, 1, settings.rows, 1) > 0 else {
                            throw BenchmarkError("nothing was read")
                        }
                    }
                },
                ours: {
                    var store: SQLiteStore?
                    let cost = try Cost.of {
                        let opened = try databases.open(path, catalog: SimulatedUsers.catalog)
                        guard try opened.record("user", .uid(UID(1))) != nil else {
                            throw BenchmarkError("nothing was read")
                        }
                        store = opened
                    }
                    store?.close()
                    return cost
                }
            ).run(rounds: max(settings.rounds, 5))
        ]
    }

    private func fill(_ databases: DeviceDatabases) throws {
        let store = try databases.filled("start")
        defer { store.close() }
        for index in 0..<Self.entries {
            // Other records each time, so that the outbox does not coalesce the entries.
            let id = SimulatedUsers.id(settings.rows + index)
            _ = try store.commit(
                [.create("user", id, SimulatedUsers.patch(settings.rows + index))], in: .default,
                now: DeviceDatabases.now)
            try store.checkpoint()
        }
        guard try store.outboxSummary().waiting == Int(Self.entries) else {
            throw BenchmarkError("expected \(Self.entries) outbox entries, found \(try store.outboxSummary())")
        }
    }
}
