import ArgumentParser
import BenchmarkUsers
import Foundation
import SyncCore
import SyncModel
import SyncStoreSQLite

/// Runs one hot path of a device some number of times, and nothing else.
///
/// `tools/bench instructions` counts the instructions of two such runs. The difference of the counts, divided by that of
/// the runs, is the cost of one time without the start of the program. It does not depend on how busy or fast the
/// machine is.
@main struct SyncCount: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "synccount", abstract: "Run a hot path of a device a number of times.")

    enum HotPath: String, ExpressibleByArgument, CaseIterable {
        /// A local write with its outbox entry, in its own transaction.
        case write
        /// A read of one record by its uid.
        case read
        /// A row of the first snapshot.
        case snapshot
    }

    @Argument(help: "The path: write, read, or snapshot.") var path: HotPath
    @Option(help: "How often it runs, a multiple of 1000.") var times: Int64 = 1_000

    private static let now = WallTime(milliseconds: 1_800_000_000_000)

    func validate() throws {
        guard times > 0, times % 1_000 == 0, path != .write || times <= 4_000 else {
            throw ValidationError("--times must be a multiple of 1000, and at most 4000 for writes")
        }
    }

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "synccount-\(ProcessInfo.processInfo.processIdentifier)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        var zeros = Zeros()
        let store = try SQLiteStore.open(
            StoreConfiguration(file: folder.appending(path: "device.db").path), catalog: SimulatedUsers.catalog,
            now: Self.now, random: &zeros)
        defer { store.close() }
        // Enough for each write to be the first of its record.
        let users = path == .snapshot ? times : 4_000
        try fill(store, with: users)
        switch path {
        case .snapshot: break
        case .write: for index in 0..<times { try write(index, of: users, to: store) }
        case .read: for index in 0..<times { try read(index % users, in: store) }
        }
    }

    private func fill(_ store: SQLiteStore, with users: Int64) throws {
        let epoch = Epoch(rawValue: "benchmark")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "benchmark"))
        try store.follow(.default)
        for from in stride(from: 0, to: users, by: 1_000) {
            let records = (from..<from + 1_000).map { SimulatedUsers.record($0, version: Version(1)) }
            let isLast = from + 1_000 == users
            let page = PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .snapshot(
                    [SnapshotRows(collection: "user", records: records)], isFirst: from == 0, isLast: isLast),
                cursor: Cursor(rawValue: "\(from + 1_000)"), version: Version(users), head: Version(users),
                hasMore: !isLast)
            _ = try store.apply(
                page, after: from == 0 ? nil : Cursor(rawValue: "\(from)"), brake: nil, now: Self.now)
            try store.checkpoint()
        }
    }

    private func write(_ index: Int64, of users: Int64, to store: SQLiteStore) throws {
        let patch: Patch = ["display_name": .text("Renamed \(index)"), "updated_at": .integer(index)]
        let edit = RecordEdit.update("user", SimulatedUsers.id(index % users), patch)
        guard try store.commit([edit], in: .default, now: Self.now) != nil else {
            throw ValidationError("write \(index) changed nothing")
        }
        try store.checkpoint()
    }

    private func read(_ uid: Int64, in store: SQLiteStore) throws {
        guard try store.record("user", .uid(UID(uid))) != nil else {
            throw ValidationError("user \(uid) was not found")
        }
    }
}

/// A generator whose numbers are always the same.
private struct Zeros: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0 }
}
