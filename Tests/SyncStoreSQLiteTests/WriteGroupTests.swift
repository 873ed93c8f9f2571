import Foundation
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

@testable import SyncStoreSQLite

/// Tests writes that share a transaction of the database.
@Suite struct WriteGroupTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "users",
            fields: [.text("username", required: true, bytes: 1...64), .reference("friend", to: "users")])
    ])

    private func create(_ number: UInt64) -> LocalWrite { LocalWrite([Samples.create(number)], in: .default) }

    /// A write that fails after its rows have been written: references are checked last.
    private func failing(_ number: UInt64) -> LocalWrite {
        let friend: Patch = ["username": .text("bo"), "friend": .reference(Samples.id(900))]
        return LocalWrite([Samples.create(number), .create("users", Samples.id(number + 500), friend)], in: .default)
    }

    private func open(_ process: DiskProcess) throws -> SQLiteStore {
        var configuration = StoreConfiguration(file: "/cache.sqlite")
        configuration.vfs = process.vfsName
        configuration.connections = .single
        var random = SeededRandom(seed: 1)
        return try SQLiteStore.open(configuration, catalog: Self.catalog, now: Samples.now, random: &random)
    }

    private func sequences(_ results: [Result<OutboxSequence?, StoreError>]) -> [String] {
        results.map { result in
            switch result {
            case .success(let sequence): sequence.map { "\($0)" } ?? "nothing"
            case .failure(let error): error.code.rawValue
            }
        }
    }

    /// Creates the record 1, and makes calls on other threads meanwhile. The calls wait for the writer, in this order.
    private func callWhileWriting(to store: SQLiteStore, _ calls: [@Sendable () -> Void]) {
        let (mayEnd, hasBegun, group) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchGroup())
        Thread.run(in: group) {
            _ = try? store.write { transaction in
                hasBegun.signal()
                mayEnd.wait()
                return try transaction.commit(create(1), now: Samples.now)
            }
        }
        hasBegun.wait()
        for (index, call) in calls.enumerated() {
            Thread.run(in: group, call)
            // The next thread starts when this one waits.
            while store.waitingThreads <= index { sched_yield() }
        }
        mayEnd.signal()
        group.wait()
    }

    @Test func `each write of a group takes effect or fails by itself`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog)
        let unchanged = LocalWrite([.update("users", Samples.id(1), ["username": .text("ada")])], in: .default)
        let results = store.commit(
            [create(1), failing(2), create(3), unchanged, create(3), create(4)], now: Samples.now)
        #expect(
            sequences(results) == ["1", "danglingReference", "2", "nothing", "duplicateRecord", "3"])
        #expect(try store.outbox(limit: 10).map(\.sequence.rawValue) == [1, 2, 3])
        #expect(try Set(store.records(matching: RecordQuery("users")).map(\.id)) == Set([1, 3, 4].map(Samples.id)))
        try store.verify()
        // Before a savepoint changes a page, SQLite copies it, and must not do so into a shared folder.
        #expect(try store.setting("temp_store") == "2")
        // The failures have not left anything in the writer's memory.
        #expect(try store.commit([Samples.create(5)], in: .default, now: Samples.now)?.rawValue == 4)
        #expect(try store.outboxSummary().waiting == 4)
        try store.verify()
    }

    @Test func `a group of which nothing is kept writes nothing`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog)
        let commits = try scratch.commits()
        #expect(
            sequences(store.commit([failing(1), failing(2)], now: Samples.now)) == [
                "danglingReference", "danglingReference",
            ])
        #expect(store.commit([], now: Samples.now).isEmpty)
        #expect(try scratch.commits() == commits)
    }

    @Test func `threads that wait for the writer share one commit, in the order of their arrival`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog)
        let commits = try scratch.commits()
        let results = Guarded<[UInt64: String]>([:])
        callWhileWriting(
            to: store,
            (UInt64(2)...5).map { number in
                {
                    let write = number == 3 ? failing(number) : create(number)
                    let result = store.commit([write], now: Samples.now)
                    results.withLock { $0[number] = sequences(result)[0] }
                }
            })
        #expect(results.withLock { $0 } == [2: "2", 3: "danglingReference", 4: "3", 5: "4"])
        #expect(try scratch.commits() == commits + 2)
        try store.verify()
    }

    @Test func `a write that would join an entry, and fails, leaves the entry as it was`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog)
        _ = store.commit([create(1)], now: Samples.now)
        func rename(_ name: String, friend: UInt64? = nil) -> LocalWrite {
            var patch: Patch = ["username": .text(name)]
            if let friend { patch.set("friend", to: .reference(Samples.id(friend))) }
            return LocalWrite([.update("users", Samples.id(1), patch)], in: .default)
        }
        let results = store.commit([rename("bo"), rename("cy", friend: 900), rename("dee")], now: Samples.now)
        #expect(sequences(results).filter { $0 == "danglingReference" }.count == 1)
        let names = try store.outbox(limit: 9).flatMap { $0.transaction.mutations.map { "\($0.intent)" } }
        #expect(names.contains { $0.contains("dee") } && !names.contains { $0.contains("cy") }, "\(names)")
        #expect(try store.record("users", .id(Samples.id(1)))?.values == [.text("dee"), .null])
        try store.verify()
    }

    @Test func `a call of the engine keeps a transaction of its own, and its place among the writes`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog)
        let commits = try scratch.commits()
        callWhileWriting(
            to: store,
            [
                { _ = store.commit([create(2)], now: Samples.now) },
                { _ = store.commit([create(3)], now: Samples.now) },
                { _ = try? store.adopt(Epoch(rawValue: "e"), as: AccountID(rawValue: "ada")) },
                { _ = store.commit([create(4)], now: Samples.now) },
            ])
        #expect(try scratch.commits() == commits + 4)
        #expect(
            try store.outbox(limit: 9).flatMap { $0.transaction.mutations.map(\.record) }
                == [1, 2, 3, 4].map(Samples.id))
    }

    @Test func `threads that write at once all get their own results`() throws {
        let scratch = try Scratch()
        let store = try scratch.open(Self.catalog)
        let group = DispatchGroup()
        let found = Guarded<[Int64]>([])
        for thread: UInt64 in 0..<8 {
            Thread.run(in: group) {
                for number in thread * 100..<thread * 100 + 20 {
                    let result = try? store.commit([Samples.create(number)], in: .default, now: Samples.now)
                    if let sequence = result ?? nil { found.withLock { $0.append(sequence.rawValue) } }
                }
            }
        }
        group.wait()
        #expect(found.withLock { $0.sorted() } == Array(1...160))
        let entries = try store.outbox(limit: 200)
        #expect(Set(entries.flatMap { $0.transaction.mutations.map(\.record) }).count == 160)
        try store.verify()
    }

    @Test(.ring(.test), arguments: [DiskFault.Failure.full, .inputOutput])
    func `after a failure at any write of the disk, a group has had the effects that it has reported`(
        failure: DiskFault.Failure
    ) throws {
        let writes = [create(1), failing(2), create(3), create(4)]
        var point = 0
        while true {
            let disk = SimulatedDisk(seed: UInt64(point))
            let (process, next) = (disk.makeProcess(), disk.makeProcess())
            let store = try open(process)
            disk.plan(DiskFault(.changes, skip: point, effect: .fail(failure)))
            let results = sequences(store.commit(writes, now: Samples.now))
            let failed = disk.faultCount
            disk.clearPlans()
            let written = zip([1, 2, 3, 4].map(Samples.id), results).filter { Int64($0.1) != nil }.map(\.0)
            #expect(results[1] != "2", "at write \(point): \(results)")
            for each in [store, try open(next)] {
                try each.verify()
                let users = try Set(each.records(matching: RecordQuery("users")).map(\.id))
                #expect(users == Set(written), "at write \(point): \(results)")
                #expect(try each.outboxSummary().waiting == written.count)
            }
            // One failure of the disk fails one of the writes at most.
            #expect(written.count >= 2, "at write \(point): \(results)")
            _ = try store.commit([Samples.create(9)], in: .default, now: Samples.now)
            if failed == 0 { break }
            point += 1
        }
        #expect(point > 5)
    }

    @Test(.ring(.test)) func `a process that is killed in a group leaves the whole group or nothing`() throws {
        var point = 0
        while true {
            let disk = SimulatedDisk(seed: UInt64(point))
            let (process, next) = (disk.makeProcess(), disk.makeProcess())
            let store = try open(process)
            disk.plan(DiskFault(.changes, skip: point, effect: .kill))
            let results = sequences(store.commit([create(1), failing(2), create(3)], now: Samples.now))
            let killed = disk.faultCount > 0
            disk.clearPlans()
            let restarted = try open(next)
            try restarted.verify()
            let users = try restarted.count(matching: RecordQuery("users"))
            #expect(killed ? users == 0 || users == 2 : users == 2, "at write \(point): \(results)")
            #expect(try restarted.outboxSummary().waiting == users)
            if !killed { break }
            point += 1
        }
        #expect(point > 3)
    }
}

extension Thread {
    fileprivate static func run(in group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        Thread {
            body()
            group.leave()
        }.start()
    }
}

extension Scratch {
    /// Returns the number of commits in the WAL (https://sqlite.org/fileformat2.html#walformat): the frames with the size
    /// of the database, which the last frame of each transaction has.
    fileprivate func commits() throws -> Int {
        let bytes = try [UInt8](Data(contentsOf: URL(filePath: file + "-wal")))
        guard bytes.count > 32 else { return 0 }
        let page = bytes[8..<12].reduce(0) { $0 << 8 | Int($1) }
        return stride(from: 32, to: bytes.count, by: 24 + page).count { start in
            bytes[start + 4..<start + 8].contains { $0 != 0 }
        }
    }
}
