import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import TestRings
import Testing

/// Runs the store on a simulated disk that fails at each write in turn.
@Suite struct DiskFaultTests {
    private static let epoch = Epoch(rawValue: "e")

    private func open(
        _ process: DiskProcess, _ connections: StoreConfiguration.Connections = .single,
        durability: Durability = .normal
    ) throws(StoreError) -> SQLiteStore {
        var configuration = StoreConfiguration(file: "/cache.sqlite")
        configuration.durability = durability
        configuration.vfs = process.vfsName
        configuration.connections = connections
        configuration.limits.busyTimeout = .milliseconds(10)
        var random = SeededRandom(seed: 1)
        return try SQLiteStore.open(configuration, catalog: Samples.catalog, now: Samples.now, random: &random)
    }

    private func page(_ number: Int64) -> PullPage {
        let change = RecordChange(
            collection: "users", id: Samples.id(1_000 + UInt64(number)),
            effect: .created(uid: UID(number), ["username": .text("shown")]))
        return PullPage(
            space: .default, epoch: Self.epoch, serverTime: .zero,
            content: .commits([Commit(version: Version(number), changes: [change])]),
            cursor: Cursor(rawValue: "\(number)"), version: Version(number), head: Version(number), hasMore: false)
    }

    /// The calls of the script that had succeeded when the disk failed.
    private struct Acknowledged {
        var written: UInt64 = 0
        var pulled: Int64 = 0
    }

    private func script(_ store: SQLiteStore, _ acknowledged: inout Acknowledged, rounds: UInt64) throws {
        _ = try store.adopt(Self.epoch, as: AccountID(rawValue: "ada"))
        for round in 1...rounds {
            _ = try store.commit([Samples.create(round)], in: .default, now: Samples.now)
            acknowledged.written = round
            _ = try store.apply(
                page(Int64(round)), after: round == 1 ? nil : page(Int64(round) - 1).cursor, brake: nil,
                now: Samples.now)
            acknowledged.pulled = Int64(round)
            if round == 2 { try store.checkpointNow() }
        }
    }

    /// Checks that the database has the effect of every call that succeeded.
    ///
    /// - Parameter mayHaveMore: whether it may have the effect of the call that was in progress, too. A process can be
    ///   killed between a commit and its report.
    private func check(
        _ store: SQLiteStore, _ acknowledged: Acknowledged, mayHaveMore: Bool, _ place: String
    ) throws {
        try store.verify()
        let users = try store.records(matching: RecordQuery("users"))
        let mine = users.filter { !$0.uid.isValid }.count
        let shown = users.count - mine
        let entries = try store.outbox(limit: 100)
        #expect(entries.count == mine, "\(place): a row and its outbox entry did not commit together")
        let written = Int(acknowledged.written)
        #expect(
            mine == written || (mayHaveMore && mine == written + 1),
            "\(place): \(mine) of \(acknowledged.written) writes")
        let version = try store.session().spaces.first?.version.rawValue ?? 0
        #expect(version == Int64(shown), "\(place): a cursor at \(version) and \(shown) rows")
        #expect(
            version == acknowledged.pulled || (mayHaveMore && version == acknowledged.pulled + 1),
            "\(place): \(version) of \(acknowledged.pulled) pages")
        #expect(try store.outboxSummary().waiting == mine, "\(place): the count is wrong")
    }

    /// Returns the numbers of the script's changes of the disk. The changes with lower numbers open the database.
    private func operations(of rounds: UInt64) throws -> Range<Int> {
        let disk = SimulatedDisk(seed: 1)
        var acknowledged = Acknowledged()
        let store = try open(disk.makeProcess())
        let start = disk.count(of: .changes)
        try script(store, &acknowledged, rounds: rounds)
        return start..<disk.count(of: .changes)
    }

    @Test(.ring(.test))
    func `if a process is killed at any write, each of its calls has taken effect completely or not at all`() throws {
        let range = try operations(of: 3)
        try #require(range.count > 20)
        for point in stride(from: 0, to: range.upperBound, by: TestRing.sample(3, 1)) {
            let disk = SimulatedDisk(seed: UInt64(point))
            disk.plan(DiskFault(.changes, skip: point, effect: .kill))
            var acknowledged = Acknowledged()
            do {
                let store = try open(disk.makeProcess())
                try script(store, &acknowledged, rounds: 3)
            } catch is StoreError {}
            #expect(disk.faultCount == 1, "write \(point) did not happen")
            disk.clearPlans()
            let store = try open(disk.makeProcess())
            try check(store, acknowledged, mayHaveMore: true, "killed at write \(point)")
            try writeOnce(store)
        }
    }

    /// Writes one record after a failure, because the store must be usable and not only readable.
    private func writeOnce(_ store: SQLiteStore) throws {
        let next = Samples.id(500)
        _ = try store.adopt(Self.epoch, as: AccountID(rawValue: "ada"))
        _ = try store.commit([.create("users", next, ["username": .text("later")])], in: .default, now: Samples.now)
        #expect(try store.isPending("users", next))
    }

    @Test(.ring(.test), arguments: TestRing.sample([DiskFault.Failure.full], [.inputOutput, .full]))
    func `a call that fails at any write leaves nothing behind, and the next call succeeds`(
        failure: DiskFault.Failure
    ) throws {
        let range = try operations(of: 3)
        for point in stride(from: range.lowerBound, to: range.upperBound, by: TestRing.sample(3, 1)) {
            let disk = SimulatedDisk(seed: UInt64(point))
            disk.plan(DiskFault(.changes, skip: point, effect: .fail(failure)))
            var acknowledged = Acknowledged()
            let store = try open(disk.makeProcess())
            do {
                try script(store, &acknowledged, rounds: 3)
            } catch let error as StoreError {
                #expect(error.code == (failure == .full ? .diskFull : .inputOutput), "at write \(point): \(error)")
            }
            #expect(disk.faultCount == 1, "write \(point) did not happen")
            disk.clearPlans()
            try check(store, acknowledged, mayHaveMore: false, "failed at write \(point)")
            try writeOnce(store)
        }
    }

    @Test func `a full disk is reported, and the write succeeds once there is space`() throws {
        let disk = SimulatedDisk(seed: 3)
        let store = try open(disk.makeProcess())
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        disk.setCapacity(bytes: 1)
        do throws(StoreError) {
            _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
            Issue.record("the write was accepted")
        } catch {
            #expect(error.code == .diskFull)
        }
        #expect(try store.outboxSummary().waiting == 1)
        disk.setCapacity(bytes: nil)
        _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
        #expect(try store.outboxSummary().waiting == 2)
    }

    @Test func `a read-only disk is reported`() throws {
        let disk = SimulatedDisk(seed: 3)
        try open(disk.makeProcess()).close()
        disk.setReadOnly(true)
        do throws(StoreError) {
            _ = try open(disk.makeProcess())
            Issue.record("the database was opened")
        } catch {
            #expect(error.code == .readOnly, "\(error)")
        }
    }

    @Test func `a missing file on a simulated disk is not created unless the configuration allows it`() throws {
        let process = SimulatedDisk(seed: 3).makeProcess()
        var configuration = StoreConfiguration(file: "/cache.sqlite")
        configuration.vfs = process.vfsName
        configuration.createsIfMissing = false
        var random = SeededRandom(seed: 1)
        do throws(StoreError) {
            _ = try SQLiteStore.open(configuration, catalog: Samples.catalog, now: Samples.now, random: &random)
            Issue.record("a database was made")
        } catch {
            #expect(error.code == .missingFile)
        }
    }

    @Test func `a power loss loses at most the newest writes, and none at full durability`() throws {
        for durability in Durability.allCases {
            for seed in 0..<TestRing.sample(6, 20) {
                let disk = SimulatedDisk(seed: UInt64(seed))
                var configuration = StoreConfiguration(file: "/cache.sqlite")
                configuration.durability = durability
                configuration.connections = .single
                let process = disk.makeProcess()
                configuration.vfs = process.vfsName
                var random = SeededRandom(seed: 1)
                let store = try SQLiteStore.open(
                    configuration, catalog: Samples.catalog, now: Samples.now, random: &random)
                var acknowledged = Acknowledged()
                try script(store, &acknowledged, rounds: 4)
                disk.losePower(seed: UInt64(seed))
                let next = disk.makeProcess()
                let again = try open(next)
                try again.verify()
                let count = try again.outboxSummary().waiting
                let users = try again.records(matching: RecordQuery("users"))
                let written = users.filter { !$0.uid.isValid }.map(\.id)
                #expect(
                    Set(written) == Set((0..<UInt64(count)).map { Samples.id($0 + 1) }),
                    "seed \(seed): these are not the oldest writes, each with its entry")
                // The script makes a checkpoint after the second write, which makes the writes before it durable.
                #expect(count >= (durability == .full ? 4 : 2), "seed \(seed): a durable write was lost")
            }
        }
    }

    /// After a failed flush, Linux marks the pages as clean: they can still be read, but no later flush writes them.
    @Test(.ring(.test), arguments: TestRing.sample(0..<8, 0..<32) as Range<UInt64>)
    func `data that a process recovers is durable, even if an earlier process failed to flush it`(seed: UInt64) throws {
        let disk = SimulatedDisk(seed: seed)
        let first = disk.makeProcess()
        let store = try open(first, durability: .full)
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        disk.plan(DiskFault(.sync, of: .wal, times: 1, effect: .fail(.inputOutput)))
        #expect(throws: StoreError.self) {
            _ = try store.commit([Samples.create(2)], in: .default, now: Samples.now)
        }
        try #require(disk.faultCount == 1)
        first.kill()

        let second = try open(disk.makeProcess(), durability: .full)
        #expect(try second.outboxSummary().waiting == 2, "SQLite recovers what stands in the WAL")
        _ = try second.commit([Samples.create(3)], in: .default, now: Samples.now)
        disk.losePower(seed: seed)
        let third = try open(disk.makeProcess(), durability: .full)
        try third.verify()
        #expect(try third.outboxSummary().waiting == 3)
    }

    @Test(.ring(.test), arguments: TestRing.sample(0..<8, 0..<32) as Range<UInt64>)
    func `a copy of the WAL that is cut short is fixed from it, also after a flush that failed`(seed: UInt64) throws {
        let disk = SimulatedDisk(seed: seed)
        let store = try open(disk.makeProcess(), durability: .normal)
        try store.checkpointNow()
        for number in 1...8 as ClosedRange<UInt64> {
            _ = try store.commit([Samples.create(number)], in: .default, now: Samples.now)
        }
        disk.plan(DiskFault(.sync, of: .wal, times: 1, effect: .fail(.inputOutput)))
        #expect(throws: StoreError.self) { try store.checkpointNow() }
        disk.plan(DiskFault(.write, of: .database, skip: Int(seed % 7), times: 1, effect: .losePower))
        #expect(throws: StoreError.self) { try store.checkpointNow() }
        try #require(disk.faultCount == 2)
        disk.clearPlans()
        let next = try open(disk.makeProcess())
        try next.verify()
        // The WAL is durable before its copy begins.
        #expect(try next.outboxSummary().waiting == 8)
        #expect(try next.count(matching: RecordQuery("users")) == 8)
    }

    @Test func `an exclusive connection works without shared memory`() throws {
        let disk = SimulatedDisk(seed: 9)
        disk.plan(DiskFault([.sharedMemoryMap, .sharedMemoryLock], times: nil, effect: .fail(.inputOutput)))
        let store = try open(disk.makeProcess(), .exclusive)
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        #expect(try store.count(matching: RecordQuery("users")) == 1)
    }
}
