import SyncConcurrency
import SyncCore
import SyncModel
import SyncStoreSQLite
import TestRings
import Testing

@Suite struct ObservationTests {
    @Test func `an observation delivers a record at once, and again after each change`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        defer { store.close() }
        var seen = store.observe("users", .id(Samples.id(1))).makeAsyncIterator()
        #expect(try await seen.next() == .some(nil), "it does not exist yet")
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        #expect(try await seen.next()??.values[0] == .text("ada"))
        _ = try store.commit([.delete("users", Samples.id(1))], in: .default, now: Samples.now)
        #expect(try await seen.next() == .some(nil))
    }

    @Test(arguments: [
        Samples.create(2, "bob"), .update("users", Samples.id(1), ["username": .text("ada")]),
    ])
    func `an observation does not deliver a change of another record or an edit that changes nothing`(
        edit: RecordEdit
    ) async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        defer { store.close() }
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        var seen = store.observe("users", .id(Samples.id(1))).makeAsyncIterator()
        #expect(try await seen.next()??.values[0] == .text("ada"))
        _ = try store.commit([edit], in: .default, now: Samples.now)
        // The observation ends after the pending change, so a result here could only come from the edit.
        store.changes.finish()
        let result = try await seen.next()
        #expect(result == Record??.none, "\(String(describing: result))")
    }

    @Test func `an observed query delivers its records in order, and a slow reader gets only the newest result`()
        async throws
    {
        let scratch = try Scratch()
        let store = try scratch.open()
        defer { store.close() }
        var seen = store.observe(RecordQuery("users", order: .field("username"))).makeAsyncIterator()
        #expect(try await seen.next() == [])
        for (number, name) in [(1, "cid"), (2, "bob"), (3, "ada")] as [(UInt64, String)] {
            _ = try store.commit([Samples.create(number, name)], in: .default, now: Samples.now)
        }
        #expect(try await seen.next()?.map { $0.values[0] } == [.text("ada"), .text("bob"), .text("cid")])
    }

    @Test func `an observed outbox delivers the number of entries to push`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        defer { store.close() }
        var seen = store.observeOutbox().makeAsyncIterator()
        #expect(try await seen.next()?.waiting == 0)
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        #expect(try await seen.next()?.waiting == 1)
        _ = try store.takeBatch(BatchLimit(transactions: 1, bytes: 1_000), now: Samples.now)
        #expect(try await seen.next()?.sent == 1)
    }

    @Test func `observations end with the store`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        var seen = store.observeOutbox().makeAsyncIterator()
        _ = try await seen.next()
        store.close()
        #expect(try await seen.next() == nil)
    }

    @Test func `observations include the writes of other programs`() async throws {
        try await observeAnotherProgram { try ExternalChangeWatcher(watching: $0) }
    }

    @Test(.ring(.test)) func `observations include the writes of other programs if the kernel refuses to watch`()
        async throws
    {
        try await observeAnotherProgram {
            try ExternalChangeWatcher(watching: $0, inotify: nil, pollInterval: .seconds(3_600))
        }
    }

    private func observeAnotherProgram(_ watch: (SQLiteStore) throws -> ExternalChangeWatcher) async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        let other = try scratch.open()
        defer {
            store.close()
            other.close()
        }
        let watcher = try watch(store)
        defer { watcher.stop() }
        var seen = store.observe("users", .id(Samples.id(7))).makeAsyncIterator()
        #expect(try await seen.next() == .some(nil))
        _ = try other.commit([Samples.create(7, "eve")], in: .default, now: Samples.now)
        #expect(try await seen.next()??.values[0] == .text("eve"))
    }

    @Test func `a page is applied over an edit that another program has joined to a known entry`() throws {
        let scratch = try Scratch()
        let (store, other) = (try scratch.open(), try scratch.open())
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        func page(_ version: Int64) -> PullPage {
            let name: Patch = ["username": .text("theirs \(version)")]
            let effect: RecordChange.Effect = version == 1 ? .created(uid: UID(1), name) : .updated(name)
            let change = RecordChange(collection: "users", id: Samples.id(1), effect: effect)
            return PullPage(
                space: .default, epoch: epoch, serverTime: .zero,
                content: .commits([Commit(version: Version(version), changes: [change])]),
                cursor: Cursor(rawValue: "\(version)"), version: Version(version), head: Version(version),
                hasMore: false)
        }
        func apply(_ version: Int64) throws {
            let cursor = version == 1 ? nil : Cursor(rawValue: "\(version - 1)")
            _ = try store.apply(page(version), after: cursor, brake: nil, now: Samples.now)
        }
        try apply(1)
        for (program, age) in [(store, 1), (other, 2)] as [(SQLiteStore, Int64)] {
            _ = try program.commit(
                [.update("users", Samples.id(1), ["age": .integer(age)])], in: .default, now: Samples.now)
            try apply(age + 1)
            let record = try #require(try store.record("users", .id(Samples.id(1))))
            #expect(record.values == [.text("theirs \(age + 1)"), .integer(age)])
        }
        #expect(try store.outboxSummary().count == 1)
    }

    @Test func `a poll without changes writes nothing and wakes no other program`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        let epoch = Epoch(rawValue: "first")
        _ = try store.adopt(epoch, as: AccountID(rawValue: "ada"))
        try store.follow(.default)
        let other = try RawDatabase(scratch.file)
        var versions: [[String]] = []
        var cursor: Cursor?
        for second in 0..<3 {
            let page = PullPage(
                space: .default, epoch: epoch, serverTime: HybridTime(wall: Samples.now.advanced(by: .seconds(second))),
                content: .commits([]), cursor: Cursor(rawValue: "at 0"), version: .zero, head: .zero, hasMore: false)
            _ = try store.apply(page, after: cursor, brake: nil, now: Samples.now)
            cursor = page.cursor
            versions.append(try other.run("PRAGMA data_version"))
        }
        #expect(versions[0] == versions[1] && versions[1] == versions[2], "\(versions)")
        #expect(try store.session().spaces.first?.cursor == cursor)
    }

    @Test func `waiting for the fate of a transaction fails with an explanation when the store closes`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        let sequence = try #require(try store.commit([Samples.create(1)], in: .default, now: Samples.now))
        let waiting = Task { try await store.settledFate(of: sequence) }
        while store.changes.subscriberCount == 0 { await Task.yield() }
        store.close()
        let failure = await #expect(throws: StoreError.self) { try await waiting.value }
        #expect(failure?.message == "the store has been closed")
    }

    @Test func `waiting for the fate of a transaction ends when its task is cancelled`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        defer { store.close() }
        let sequence = try #require(try store.commit([Samples.create(1)], in: .default, now: Samples.now))
        let waiting = Task { try await store.settledFate(of: sequence) }
        while store.changes.subscriberCount == 0 { await Task.yield() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try store.cancel(sequence, now: Samples.now)
        #expect(try await store.settledFate(of: sequence) == .cancelled)
    }
}
