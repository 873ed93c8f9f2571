import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncCore
import SyncModel
import SyncStoreSQLite

/// Makes the databases of the benchmarks that need no server.
struct DeviceDatabases {
    let settings: BenchmarkSettings
    static let now = WallTime(milliseconds: 1_800_000_000_000)

    /// Returns a local store that has taken a first copy of the simulated users.
    func filled(
        _ name: String, catalog: SchemaCatalog = SimulatedUsers.catalog, durability: Durability = .normal,
        _ record: (Int64) -> Record = { SimulatedUsers.record($0, version: Version(1)) }
    ) throws -> SQLiteStore {
        let store = try open(path(name), catalog: catalog, durability: durability)
        let epoch = Epoch(rawValue: "benchmark")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "benchmark"))
        try store.follow(.default)
        let rows = settings.rows
        var from: Int64 = 0
        while from < rows {
            let to = min(rows, from + 1_000)
            let page = PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .snapshot(
                    [SnapshotRows(collection: "user", records: (from..<to).map(record))],
                    isFirst: from == 0, isLast: to == rows),
                cursor: Cursor(rawValue: "\(to)"), version: Version(rows), head: Version(rows), hasMore: to < rows)
            _ = try store.apply(
                page, after: from == 0 ? nil : Cursor(rawValue: "\(from)"), brake: nil, now: Self.now)
            try store.checkpoint()
            from = to
        }
        return store
    }

    /// The path of the database of a store.
    func path(_ name: String) throws -> String {
        try settings.subfolder("device-\(name)").appending(path: "device.db").path
    }

    func open(_ path: String, catalog: SchemaCatalog, durability: Durability = .normal) throws -> SQLiteStore {
        var configuration = StoreConfiguration(file: path)
        configuration.durability = durability
        var random = SystemRandomNumberGenerator()
        return try SQLiteStore.open(configuration, catalog: catalog, now: Self.now, random: &random)
    }

    /// Returns a database of the C program, with all users unless `isEmpty`.
    func raw(_ name: String, durability: Durability = .normal, isEmpty: Bool = false) throws -> OpaquePointer {
        let path = settings.folder.appending(path: "\(name).db").path
        guard let database = raw_open(path, durability == .full ? 1 : 0) else {
            throw BenchmarkError("the raw database could not be opened: \(path)")
        }
        if !isEmpty { try check(raw_load(database, settings.rows, 1_000, 0)) }
        return database
    }
}
