import Dispatch
import Glibc
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import TestRings
import Testing

/// Runs real processes on one database file.
@Suite(.ring(.test)) struct ProcessTests {
    private static func open(_ file: String) throws(StoreError) -> SQLiteStore {
        var random = SeededRandom(seed: 42)
        return try SQLiteStore.open(
            StoreConfiguration(file: file), catalog: Samples.catalog, now: Samples.now, random: &random)
    }

    @Test func `every commit that a killed process saw succeed is in the database`() async throws {
        let scratch = try Scratch()
        let file = scratch.file
        let log = scratch.folder + "/acknowledged"
        for round in 0..<3 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [file = file as String, log = log as String, round = round as Int] in
                let acknowledged = Glibc.open(log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                let store = try Self.open(file)
                // After some writes, another thread kills the process at an arbitrary moment.
                let hasWritten = DispatchSemaphore(value: 0)
                DispatchQueue(label: "killer").async { @Sendable in
                    hasWritten.wait()
                    kill(getpid(), SIGKILL)
                }
                for number in 0..<1_000_000 {
                    if number == 20 + 15 * round { hasWritten.signal() }
                    let id = UInt64(round * 1_000_000 + number)
                    _ = try store.commit([Samples.create(id)], in: .default, now: Samples.now)
                    let line = Array("\(id)\n".utf8)
                    Glibc.write(acknowledged, line, line.count)
                }
            }
        }
        let store = try scratch.open()
        try store.verify()
        let acknowledged = try lines(of: log)
        try #require(acknowledged.count > 10)
        for id in acknowledged {
            #expect(try store.record("users", .id(Samples.id(id))) != nil, "write \(id) was lost")
        }
        let users = try store.count(matching: RecordQuery("users"))
        #expect(try store.outboxSummary().waiting == users)
        #expect(users - acknowledged.count <= 3, "\(users) users, \(acknowledged.count) acknowledged")
    }

    private func lines(of path: String) throws -> [UInt64] {
        let file = try #require(fopen(path, "r"))
        defer { fclose(file) }
        var numbers: [UInt64] = []
        var buffer = [CChar](repeating: 0, count: 64)
        while fgets(&buffer, 64, file) != nil {
            let text = String(
                decoding: buffer.prefix { $0 != 10 && $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if let number = UInt64(text) { numbers.append(number) }
        }
        return numbers
    }

    @Test func `two processes open, migrate and write one file at once`() async throws {
        let scratch = try Scratch()
        let file = scratch.file
        async let other = #expect(processExitsWith: .success) { [file = file as String] in
            let store = try Self.open(file)
            for number in 0..<150 {
                _ = try store.commit([Samples.create(10_000 + UInt64(number))], in: .default, now: Samples.now)
            }
        }
        let store = try Self.open(file)
        for number in 0..<150 {
            _ = try store.commit([Samples.create(UInt64(number))], in: .default, now: Samples.now)
            if number % 20 == 0 { try store.checkpointNow() }
        }
        _ = await other
        try store.verify()
        #expect(try store.count(matching: RecordQuery("users")) == 300)
        #expect(try store.outboxSummary().waiting == 300)
        let sequences = try store.outbox(limit: 1_000).map(\.sequence)
        #expect(Set(sequences).count == 300)
    }

    @Test func `the sync lease has only one holder, within a process and across processes`() async throws {
        let scratch = try Scratch()
        let file = scratch.file
        guard case .acquired(let lease) = try SyncLease.tryAcquire(file: file) else {
            Issue.record("the lease was not free")
            return
        }
        #expect(scratch.permissions("cache.sqlite.sync") == "600")
        let holder = getpid()
        await #expect(processExitsWith: .success) { [file = file as String, holder = holder as Int32] in
            guard case .held(let by) = try SyncLease.tryAcquire(file: file) else {
                Issue.record("the lease was given twice")
                return
            }
            #expect(by == holder)
        }
        // A second engine in the same process must not get the lease either.
        guard case .held(by: holder) = try SyncLease.tryAcquire(file: file) else {
            Issue.record("the lease was given twice in one process")
            return
        }
        withExtendedLifetime(lease) {}
    }

    @Test func `acquiring a lease waits for a holder that releases it, up to a timeout`() throws {
        let scratch = try Scratch()
        let file = scratch.file
        var lease: SyncLease?
        if case .acquired(let acquired) = try SyncLease.tryAcquire(file: file) { lease = acquired }
        try #require(lease != nil)
        guard case .held = try SyncLease.tryAcquire(file: file, within: .milliseconds(12)) else {
            Issue.record("the lease was given twice")
            return
        }
        let openings = try FileOpenings(of: file + ".sync")
        let done = DispatchSemaphore(value: 0)
        let isAcquired = Guarded(false)
        DispatchQueue(label: "a second engine").async { [file = file as String] in
            if case .acquired? = try? SyncLease.tryAcquire(file: file, within: .seconds(900)) {
                isAcquired.withLock { $0 = true }
            }
            done.signal()
        }
        // An attempt opens the lock file once, and once more to read the holder's process id when it gives up. With the
        // third opening, the second engine has found the lease held and has tried again.
        #expect(openings.wait(count: 3), "the lease was not waited for")
        lease = nil
        done.wait()
        #expect(isAcquired.withLock { $0 }, "the lease was not waited for")
    }

    @Test func `a lease is free after its holder is killed`() async throws {
        let scratch = try Scratch()
        let file = scratch.file
        await #expect(processExitsWith: .signal(SIGKILL)) { [file = file as String] in
            guard case .acquired(let lease) = try SyncLease.tryAcquire(file: file) else { return }
            withExtendedLifetime(lease) { _ = kill(getpid(), SIGKILL) }
        }
        guard case .acquired = try SyncLease.tryAcquire(file: file) else {
            Issue.record("a dead process holds the lease")
            return
        }
    }

    @Test func `a store reports the writes of other processes, and reports its own writes only once`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        // A separate connection stands in for another process, because SQLite detects its writes in the same way.
        let other = try scratch.open()
        let watcher = try ExternalChangeWatcher(watching: store, pollInterval: .seconds(3_600))
        defer { watcher.stop() }
        var changes = store.changes.subscribe().makeAsyncIterator()

        // The watcher checks each write of either connection on its own queue. A second report of an own write would
        // stand in for the report of the next foreign write, which would then be the next own change.
        for number in stride(from: UInt64(1), to: 40, by: 2) {
            _ = try store.commit([Samples.create(number)], in: .default, now: Samples.now)
            let own = await changes.next()
            #expect(own?.extents == ["users": .records([Samples.id(number)])])

            _ = try other.commit([Samples.create(number + 1)], in: .default, now: Samples.now)
            let foreign = await changes.next()
            #expect(foreign == .everything(in: Samples.catalog))
            #expect(try store.record("users", .id(Samples.id(number + 1))) != nil)
        }
    }

    @Test func `a store reports that another process asks for a sync, and that nothing else has changed`() async throws
    {
        let scratch = try Scratch()
        let store = try scratch.open()
        guard case .acquired(let lease) = try SyncLease.tryAcquire(file: scratch.file) else {
            Issue.record("the lease of a new database is free")
            return
        }
        let watcher = try ExternalChangeWatcher(watching: store, pollInterval: .seconds(3_600))
        defer { watcher.stop() }
        var changes = store.changes.subscribe().makeAsyncIterator()
        for _ in 0..<3 {
            try SyncLease.requestSync(file: scratch.file)
            #expect(await changes.next() == StoreChange(requestsSync: true))
        }
        withExtendedLifetime(lease) {}
    }

    @Test func `a request for a sync of a database that nobody has synced does nothing`() throws {
        let scratch = try Scratch()
        try SyncLease.requestSync(file: scratch.file)
        #expect(scratch.names.isEmpty)
    }
}

/// Counts how often a file is opened, by any thread.
private final class FileOpenings {
    private let descriptor: Int32

    init(of path: String) throws {
        descriptor = inotify_init1(Int32(IN_CLOEXEC))
        try #require(inotify_add_watch(descriptor, path, UInt32(IN_OPEN)) >= 0)
    }

    deinit {
        close(descriptor)
    }

    /// Waits until the file has been opened `count` times; false if that takes more than two minutes.
    func wait(count: Int) -> Bool {
        let eventSize = MemoryLayout<inotify_event>.size
        var seen = 0
        // Events of a watched file have no name, so each has the same size. The kernel merges equal events that have
        // not been read, so this reads them as they come.
        var buffer = [UInt8](repeating: 0, count: 64 * eventSize)
        while seen < count {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&request, 1, 120_000) == 1 else { return false }
            let length = read(descriptor, &buffer, buffer.count)
            guard length > 0 else { return false }
            seen += length / eventSize
        }
        return true
    }
}
