import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite

extension ForeignDecoder {
    /// A client's database file, damaged as described by the bytes (`FileDamage`).
    static let databases: [ForeignDecoder] = [
        ForeignDecoder(
            "database", seeds: { FileDamage.seeds(size: try SampleDatabase.bytes.get().count) },
            check: { bytes in
                let folder = try TemporaryFolder()
                let file = folder.path + "/cache.sqlite"
                try folder.write(FileDamage(bytes).applied(to: try SampleDatabase.bytes.get()), to: "cache.sqlite")
                use(file)
            }),
        salvage,
    ]

    /// A salvage succeeds for any damage, and its report counts the entries in the new database.
    private static let salvage = ForeignDecoder(
        "salvage", seeds: { FileDamage.seeds(size: try SampleDatabase.bytes.get().count) },
        check: { bytes in
            let folder = try TemporaryFolder()
            let file = folder.path + "/cache.sqlite"
            try folder.write(FileDamage(bytes).applied(to: try SampleDatabase.bytes.get()), to: "cache.sqlite")
            var random = SeededRandom(seed: 7)
            let report: SalvageReport
            do {
                report = try SQLiteStore.salvage(
                    StoreConfiguration(file: file), catalog: SampleDatabase.catalog, now: SampleDatabase.now,
                    random: &random)
            } catch {
                throw PropertyViolation("the database cannot be salvaged: \(error)")
            }
            do {
                let store = try SampleDatabase.open(file)
                defer { store.close() }
                try store.verify()
                let saved = try store.outbox(after: nil, limit: 1_000).count
                let journal = try store.journal(state: nil, limit: 1_000).count
                guard (saved, journal) == (report.outbox.saved, report.journal.saved) else {
                    throw PropertyViolation("\(saved) writes and \(journal) entries were saved: \(report)")
                }
            } catch let error as StoreError {
                throw PropertyViolation("the new database cannot be used: \(error)")
            }
        })

    /// Calls the store's methods. Each must return or throw a `StoreError` for any contents of the file.
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
