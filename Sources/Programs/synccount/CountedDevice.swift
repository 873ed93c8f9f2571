import BenchmarkUsers
import Foundation
import SyncCore
import SyncModel
import SyncObjects
import SyncRuntimeLive
import SyncStoreSQLite
import SyncWire
import TomboloModeling

/// A device whose hot paths are counted. Its users arrive as the pages of a first snapshot.
struct CountedDevice {
    private let store: SQLiteStore
    private let users: Int64
    private static let epoch = Epoch(rawValue: "benchmark")
    private static let now = WallTime(milliseconds: 1_800_000_000_000)

    /// - Parameter users: the number of users, a multiple of 1,000.
    init(in folder: URL, users: Int64) throws {
        var zeros = Zeros()
        self.users = users
        store = try SQLiteStore.open(
            StoreConfiguration(file: folder.appending(path: "device.db").path), catalog: SimulatedUsers.catalog,
            now: Self.now, random: &zeros)
        try fill()
    }

    func close() {
        store.close()
    }

    private func fill() throws {
        _ = try store.adopt(Self.epoch, as: AccountID(rawValue: "benchmark"))
        try store.follow(.default)
        for from in stride(from: 0, to: users, by: 1_000) {
            _ = try store.apply(
                Self.page(from: from, of: users), after: from == 0 ? nil : Cursor(rawValue: "\(from)"), brake: nil,
                now: Self.now)
            try store.checkpoint()
        }
    }

    /// Returns the page of the first snapshot with 1,000 users.
    private static func page(from: Int64, of users: Int64) -> PullPage {
        let records = (from..<from + 1_000).map { SimulatedUsers.record($0, version: Version(1)) }
        let isLast = from + 1_000 == users
        return PullPage(
            space: .default, epoch: Self.epoch, serverTime: .zero,
            content: .snapshot(
                [SnapshotRows(collection: "user", records: records)], isFirst: from == 0, isLast: isLast),
            cursor: Cursor(rawValue: "\(from + 1_000)"), version: Version(users), head: Version(users),
            hasMore: !isLast)
    }

    /// Decodes pages of 1,000 rows of the first snapshot.
    static func decodePages(of rows: Int64) throws {
        let bytes = try PullCodec.encode(.page(page(from: 0, of: 2_000)), catalog: SimulatedUsers.catalog)
        for _ in 0..<rows / 1_000 {
            guard case .page(let page) = try PullCodec.decodeResponse(bytes, catalog: SimulatedUsers.catalog),
                case .snapshot(let groups, _, _) = page.content, groups.first?.count == 1_000
            else { throw BenchmarkError("a page was not decoded") }
        }
    }

    func write(_ index: Int64) throws {
        let patch: Patch = ["display_name": .text("Renamed \(index)"), "updated_at": .integer(index)]
        let edit = RecordEdit.update("user", SimulatedUsers.id(index % users), patch)
        guard try store.commit([edit], in: .default, now: Self.now) != nil else {
            throw BenchmarkError("write \(index) changed nothing")
        }
        try store.checkpoint()
    }

    /// Applies renames of users, which arrive as a page for each 1,000. Each commit renames 100 users.
    func changes(of rows: Int64) throws {
        let version = Version(users)
        for from in stride(from: 0, to: rows, by: 1_000) {
            let commits = (Int64(0)..<10).map { commit in
                let index = from + commit * 100
                return Commit(
                    version: Version(version.rawValue + index / 100 + 1),
                    changes: (index..<index + 100).map { uid in
                        RecordChange(
                            collection: "user", id: SimulatedUsers.id(uid % users),
                            effect: .updated(["display_name": .text("Renamed \(uid)")]))
                    })
            }
            let last = version.rawValue + from / 100 + 10
            let page = PullPage(
                space: .default, epoch: Self.epoch, serverTime: .zero, content: .commits(commits),
                cursor: Cursor(rawValue: "c\(last)"), version: Version(last), head: Version(last), hasMore: false)
            let cursor = Cursor(rawValue: from == 0 ? "\(users)" : "c\(last - 10)")
            guard case .applied(_, _, 1_000) = try store.apply(page, after: cursor, brake: nil, now: Self.now) else {
                throw BenchmarkError("the device did not apply a page")
            }
            try store.checkpoint()
        }
    }

    func read(_ uid: Int64) throws {
        guard try store.record("user", .uid(UID(uid))) != nil else {
            throw BenchmarkError("user \(uid) was not found")
        }
    }

    /// Returns the live objects over the store.
    func objects() throws -> LiveObjects {
        LiveObjects(
            source: StoredSource(store: store, server: .none), models: try ModelCatalog([CountedUser.self]),
            runtime: .live())
    }

    func readObject(_ uid: Int64, of objects: LiveObjects) throws {
        guard try objects.object(CountedUser.self, uid: Int(uid)).presence == .here else {
            throw BenchmarkError("user \(uid) was not found")
        }
    }
}

/// The model of the users.
private struct CountedUser: Model {
    static let collection = "user"
    let username = Field<String>("username", .required)
    let displayName = Field<String?>("display_name")
    let bio = Field<String?>("bio")
    let avatarUID = Field<Int?>("avatar_uid")
    let updatedAt = Field<Int?>("updated_at")
}

/// A generator whose numbers are always the same.
private struct Zeros: RandomNumberGenerator {
    mutating func next() -> UInt64 { 0 }
}
