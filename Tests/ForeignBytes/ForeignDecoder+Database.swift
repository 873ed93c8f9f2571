import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite

extension ForeignDecoder {
    /// Decoders of a client's database file. The bytes describe the damage to the file (`FileDamage`).
    static let databases: [ForeignDecoder] = [
        ForeignDecoder(
            "database", seeds: { FileDamage.seeds(size: try SampleDatabase.bytes.get().count) },
            check: { bytes in
                let folder = try TemporaryFolder()
                let file = folder.path + "/cache.sqlite"
                try folder.write(FileDamage(bytes).applied(to: try SampleDatabase.bytes.get()), to: "cache.sqlite")
                try use(file)
            }),
        salvage,
    ]

    /// A salvage must succeed for any damage, and the counts in its report must be those of the new database.
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
                // The report counts offers of lost writes separately. One journal entry can hold several of them.
                let offers = journal - report.journal.saved
                guard saved == report.outbox.saved, (report.offered == 0) == (offers == 0),
                    (0...report.offered).contains(offers)
                else {
                    throw PropertyViolation("\(saved) writes and \(journal) entries were saved: \(report)")
                }
            } catch let error as StoreError {
                throw PropertyViolation("the new database cannot be used: \(error)")
            }
        })

    /// Calls the store's methods. No call may crash, whatever the file contains. If `verify()` finds no damage, the
    /// calls must not find any either.
    private static func use(_ file: String) throws {
        guard let store = try? SampleDatabase.open(file) else { return }
        defer { store.close() }
        let isSound = (try? store.verify()) != nil
        func call(_ name: String, _ body: () throws -> Void) throws {
            do {
                try body()
            } catch let violation as PropertyViolation {
                throw violation
            } catch {
                guard isSound, let failure = error as? StoreError,
                    [.corrupt, .notADatabase, .inputOutput].contains(failure.code)
                else { return }
                throw PropertyViolation("\(name) fails in a database that was verified: \(failure)")
            }
        }
        try call("session") { _ = try store.session() }
        try call("contact") { _ = try store.contact() }
        try call("journal") { _ = try store.journal(state: nil, limit: 100) }
        try call("outbox") { _ = try store.outbox(after: nil, limit: 100) }
        try call("records") { _ = try store.records(matching: RecordQuery("users")) }
        try call("commit") {
            _ = try store.commit([SampleDatabase.creation(999)], in: .default, now: SampleDatabase.now)
        }
        try call("takeBatch") {
            _ = try store.takeBatch(BatchLimit(transactions: 10, bytes: 100_000), now: SampleDatabase.now)
        }
        try call("apply") {
            let cursor = try store.session().spaces.first?.cursor
            let result = try store.apply(SampleDatabase.page(2), after: cursor, brake: nil, now: SampleDatabase.now)
            guard case .applied(_, _, let changed) = result, changed == 40 || !isSound else {
                throw PropertyViolation("the page was not applied to a database that was verified: \(result)")
            }
        }
    }
}
