import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncCore
import SyncModel
import SyncStoreSQLite

/// Lists of records, beside the same SQL in C on the same database.
struct ListBenchmark {
    let settings: BenchmarkSettings

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    /// The columns that the store reads of each record.
    private static let columns =
        "sync_row, id, uid, version, sync_space, sync_fields, sync_unknown, username, display_name, bio, avatar_uid, updated_at"
    /// Rows of one page, and the number of pages before the last one that is read.
    private static let pageRows = 50

    func figures() throws -> [Figure] {
        let databases = DeviceDatabases(settings: settings)
        // Each value of the indexed field has 1,000 users, scattered over the table.
        let groups = max(1, settings.rows / 1_000)
        let store = try databases.filled("lists", catalog: SimulatedUsers.indexedCatalog) { uid in
            var record = SimulatedUsers.record(uid, version: Version(1))
            record.values[3] = .integer(uid % groups)
            return record
        }
        defer { store.close() }
        let path = try databases.path("lists")

        let lists = 20
        let wanted = (0..<Int64(lists)).map { $0 % groups }
        let pages = 200
        let lastPage = min(1_000, Int(settings.rows) / Self.pageRows)
        let far = try cursor(after: Int64((lastPage - 1) * Self.pageRows), in: store)
        return [
            try Comparison(
                row: .list, name: "list of 1,000 by an indexed field, beside the same SQL in C", size: settings.users,
                units: lists * Int(min(1_000, settings.rows)), unit: "rows",
                basis: {
                    try read(path, "WHERE avatar_uid = ?1 ORDER BY id", wanted, expecting: lists * 1_000)
                },
                ours: {
                    try Cost.of {
                        for group in wanted {
                            let query = RecordQuery(
                                "user", where: [.compare(.field("avatar_uid"), .equal, .integer(group))])
                            try expect(min(1_000, Int(settings.rows)), try store.records(matching: query).count)
                        }
                    }
                }
            ).run(rounds: settings.rounds),
            try Comparison(
                row: .list,
                name: "page of 50 rows by a cursor, beside the same SQL in C",
                size: "page \(lastPage) of \(settings.users)", units: pages, unit: "pages",
                basis: {
                    let uid = Int64((lastPage - 1) * Self.pageRows)
                    return try read(
                        path, "WHERE id > (SELECT id FROM user WHERE uid = ?1 AND uid >= 0) ORDER BY id LIMIT 50",
                        Array(repeating: uid, count: pages), expecting: pages * min(50, Int(settings.rows - uid) - 1))
                },
                ours: { try page(pages, after: far, in: store) }
            ).run(rounds: settings.rounds),
            try Comparison(
                row: .list, name: "such a page, beside page 1", size: "page \(lastPage) of \(settings.users)",
                units: pages, unit: "pages",
                basis: { try page(pages, after: nil, in: store) }, ours: { try page(pages, after: far, in: store) }
            ).run(rounds: settings.rounds),
            try Comparison(
                row: .listAll, name: "list of all users by uid, the store's part of syncctl user list",
                size: settings.users,
                units: Int(settings.rows), unit: "rows",
                basis: {
                    try read(path, "ORDER BY uid, id LIMIT ?1", [-1], expecting: Int(settings.rows))
                },
                ours: {
                    try Cost.of {
                        let all = try store.records(matching: RecordQuery("user", order: .uid))
                        try expect(Int(settings.rows), all.count)
                    }
                }
            ).run(rounds: settings.rounds),
        ]
    }

    private func read(_ path: String, _ clause: String, _ values: [Int64], expecting rows: Int) throws -> Cost {
        var count: Int64 = 0
        let sql = "SELECT \(Self.columns) FROM user \(clause)"
        let cost = Cost.of { count = raw_list(path, sql, values, Int64(values.count)) }
        try expect(rows, Int(count))
        return cost
    }

    private func cursor(after uid: Int64, in store: SQLiteStore) throws -> RecordCursor {
        guard let record = try store.record("user", .uid(UID(uid))) else {
            throw BenchmarkError("user \(uid) was not found")
        }
        return RecordCursor(of: record, orders: [.id], schema: SimulatedUsers.indexedSchema)
    }

    private func page(_ count: Int, after cursor: RecordCursor?, in store: SQLiteStore) throws -> Cost {
        var query = RecordQuery("user", limit: Self.pageRows)
        query.cursor = cursor
        return try Cost.of {
            for _ in 0..<count {
                guard try !store.records(matching: query).isEmpty else { throw BenchmarkError("an empty page") }
            }
        }
    }

    private func expect(_ rows: Int, _ found: Int) throws {
        guard rows == found else { throw BenchmarkError("expected \(rows) rows, found \(found)") }
    }
}
