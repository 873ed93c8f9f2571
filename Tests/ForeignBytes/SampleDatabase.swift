package import SyncCore
package import SyncModel
import SyncSimulation
package import SyncStoreSQLite

/// A small database with records, an outbox, a journal, and a cursor in a space.
package enum SampleDatabase {
    package static let now = WallTime(milliseconds: 1_700_000_000_000)

    package static let catalog = SchemaCatalog([
        ModelSchema(collection: "users", fields: [.text("username", required: true, bytes: 1...64), .integer("age")])
    ])

    /// The bytes of the database file.
    package static let bytes = Result { try make() }

    package static func open(_ file: String) throws(StoreError) -> SQLiteStore {
        var configuration = StoreConfiguration(file: file)
        configuration.connections = .single
        var random = SeededRandom(seed: 42)
        return try SQLiteStore.open(configuration, catalog: catalog, now: now, random: &random)
    }

    package static func id(_ number: UInt64) -> RecordID {
        RecordID(bits: Identifier128(high: 0x018B_CFE5_6800_7000, low: 0x8000_0000_0000_0000 | number))
    }

    package static func creation(_ number: UInt64) -> RecordEdit {
        .create("users", id(number), ["username": .text("user \(number)")])
    }

    /// Returns a page with one commit, which creates records of another device.
    package static func page(_ version: Int64) -> PullPage {
        let changes = (version * 1_000..<version * 1_000 + 40).map { number in
            RecordChange(
                collection: "users", id: id(UInt64(number)),
                effect: .created(uid: UID(number), ["username": .text("other \(number)")]))
        }
        return PullPage(
            space: .default, epoch: epoch, serverTime: HybridTime(wall: now, counter: 0),
            content: .commits([Commit(version: Version(version), changes: changes)]),
            cursor: Cursor(rawValue: "cursor \(version)"), version: Version(version), head: Version(version),
            hasMore: false)
    }

    package static let epoch = Epoch(rawValue: "first")

    private static func make() throws -> [UInt8] {
        let folder = try TemporaryFolder()
        let store = try open(folder.path + "/cache.sqlite")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        for number in UInt64(1)...50 { _ = try store.commit([creation(number)], in: .default, now: now) }
        let batch = try store.takeBatch(BatchLimit(transactions: 4, bytes: 100_000), now: now)
        let applied = Outcome.applied(version: Version(7), uids: [], conflicts: [])
        let rejected = Outcome.rejected(Rejection(code: .forbidden, message: "not for you", mutation: 0))
        let results = (batch?.transactions ?? []).enumerated().map { index, transaction in
            TransactionResult(number: transaction.number, outcome: index == 3 ? applied : rejected)
        }
        _ = try store.record(results, of: try store.session().identity, now: now)
        _ = try store.takeBatch(BatchLimit(transactions: 4, bytes: 100_000), now: now)
        _ = try store.apply(page(1), after: nil, brake: nil, now: now)
        try store.checkpointNow()
        store.close()
        return try folder.read("cache.sqlite")
    }
}
