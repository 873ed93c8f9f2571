import SyncCore
import SyncModel
import SyncStoreSQLite

extension ForeignDecoder {
    /// A client's database file, damaged as `FileDamage` reads it from the bytes.
    static let databases: [ForeignDecoder] = [
        ForeignDecoder(
            "database", seeds: { FileDamage.seeds(size: try SampleDatabase.bytes.get().count) },
            check: { bytes in
                let folder = try TemporaryFolder()
                let file = folder.path + "/cache.sqlite"
                try folder.write(FileDamage(bytes).applied(to: try SampleDatabase.bytes.get()), to: "cache.sqlite")
                use(file)
            })
    ]

    /// Whatever the file holds, each call returns or throws a `StoreFailure`.
    private static func use(_ file: String) {
        guard let store = try? SampleDatabase.open(file) else { return }
        defer { store.close() }
        try? store.verify()
        _ = try? store.session()
        _ = try? store.contact()
        _ = try? store.journal(state: nil, limit: 100)
        _ = try? store.outbox(after: nil, limit: 100)
        _ = try? store.records(matching: RecordQuery("users"))
        _ = try? store.commit([SampleDatabase.creation(999)], in: .default, now: SampleDatabase.now)
        _ = try? store.takeBatch(BatchLimit(transactions: 10, bytes: 100_000), now: SampleDatabase.now)
        _ = try? store.apply(SampleDatabase.page(2), after: nil, brake: nil, now: SampleDatabase.now)
    }
}
