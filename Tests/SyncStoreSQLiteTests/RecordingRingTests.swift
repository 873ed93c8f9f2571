import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import SyncStoreSQLite
import SyncTestKit
import TestRings
import Testing

/// The ring buffer of the flight recorder in the client's database.
@Suite struct RecordingRingTests {
    private let limits = RecordingLimits(turns: 20, bytes: 1_000_000)

    private func parts(_ name: String, _ turns: Int) -> [RecordingPart] {
        [.start("start \(name)")] + (0..<turns).map { .turn("\(name) \($0)") }
    }

    private func refusal(_ body: () throws(StoreError) -> Void) -> StoreError.Code? {
        do throws(StoreError) {
            try body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a recording is read back in order and survives reopening`() throws {
        let scratch = try Scratch()
        var store = try scratch.open()
        #expect(try store.recording() == [])
        #expect(try store.recordingSummary() == RecordingSummary())
        try store.append(parts("a", 3), keeping: limits)
        try store.append([.turn("a 3")], keeping: limits)
        store.close()
        store = try scratch.open()
        try store.append([.turn("a 4")] + parts("b", 2), keeping: limits)
        #expect(
            try store.recording() == [
                RecordingSegment(start: "start a", turns: ["a 0", "a 1", "a 2", "a 3", "a 4"]),
                RecordingSegment(start: "start b", turns: ["b 0", "b 1"]),
            ])
        #expect(
            try store.recordingSummary() == RecordingSummary(segments: 2, turns: 7, bytes: 2 * 7 + 7 * 3))
    }

    @Test(arguments: RecordingStoreConformance.rules) func `the ring keeps the rules of the recording port`(
        rule: String
    ) throws {
        let scratch = try Scratch()
        try RecordingStoreConformance { try scratch.open() }.run(rule)
    }

    @Test func `turns are deleted with their segments`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        for number in 0..<10 { try store.append(parts("\(number)", 5), keeping: limits) }
        #expect(try RawDatabase(scratch.file).run("SELECT count(*) FROM sync_recording_turn") == ["20"])
    }

    @Test func `a recording notifies no observer and changes nothing else`() async throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        let session = try store.session()
        var news = store.changes.subscribe().makeAsyncIterator()
        try store.append(parts("a", 3), keeping: limits)
        try store.clearRecording()
        _ = try store.commit([Samples.create(1)], in: .default, now: Samples.now)
        // If the recording had notified observers, the commit would not be the first change.
        #expect(await news.next()?.touchesOutbox == true)
        store.close()
        #expect(await news.next() == nil)
        #expect(session.identity == (try scratch.open().session().identity))
    }

    @Test func `a recording does not wait for another program's write, and leaves the timeout of commits unchanged`()
        throws
    {
        let scratch = try Scratch()
        let store = try scratch.open { $0.limits.busyTimeout = .seconds(600) }
        let other = try RawDatabase(scratch.file)
        try other.run("BEGIN IMMEDIATE")
        // If the recording waited, the test would take ten minutes.
        #expect(refusal { () throws(StoreError) in try store.append(parts("a", 1), keeping: limits) } == .busy)
        #expect(try store.setting("busy_timeout") == "600000", "the timeout of commits was not restored")
        try other.run("ROLLBACK")
        try store.append(parts("a", 1), keeping: limits)
        #expect(try store.recordingSummary().turns == 1)
    }

    @Test func `a closed store refuses to record`() throws {
        let scratch = try Scratch()
        let store = try scratch.open()
        store.close()
        #expect(refusal { () throws(StoreError) in try store.append(parts("a", 1), keeping: limits) } == .inputOutput)
    }

    @Test(.ring(.test), arguments: stride(from: 0, to: 60, by: TestRing.sample(3, 1)).map { $0 })
    func `the ring is consistent after a power loss at any moment`(seed: Int) throws {
        let disk = SimulatedDisk(seed: UInt64(seed))
        func open(_ process: DiskProcess) throws(StoreError) -> SQLiteStore {
            var configuration = StoreConfiguration(file: "/cache.sqlite")
            configuration.vfs = process.vfsName
            configuration.connections = .single
            configuration.durability = .normal
            var random = SeededRandom(seed: 42)
            return try SQLiteStore.open(configuration, catalog: Samples.catalog, now: Samples.now, random: &random)
        }
        let process = disk.makeProcess()
        let store = try open(process)
        var limits = limits
        limits.turns = 12
        // A checkpoint makes the first segment durable, so the power loss cannot remove every segment.
        try store.append(parts("0", 3), keeping: limits)
        try store.checkpointNow()
        disk.plan(DiskFault(.changes, skip: 3 * seed + 1, effect: .losePower))
        var written = 1
        while written < 1_000 {
            do throws(StoreError) {
                try store.append(
                    parts("\(written)", 3) + (seed % 2 == 0 ? [.turn("extra")] : []), keeping: limits)
                written += 1
            } catch {
                break
            }
        }
        #expect(disk.powerLossCount == 1)
        process.kill()
        let again = try open(disk.makeProcess())
        let segments = try again.recording()
        let summary = try again.recordingSummary()
        #expect(segments.count == summary.segments)
        #expect(segments.reduce(0) { $0 + $1.turns.count } == summary.turns)
        #expect(summary.turns <= 12)
        // No segment is incomplete, out of order, or missing between two others.
        let numbers = segments.map { Int($0.start.dropFirst("start ".count)) ?? -1 }
        let (first, last) = (try #require(numbers.first), try #require(numbers.last))
        #expect(numbers == Array(first...max(first, last)))
        #expect(last <= written, "the append with this number was in progress")
        for (number, segment) in zip(numbers, segments) {
            #expect(segment.turns.prefix(3) == ["\(number) 0", "\(number) 1", "\(number) 2"])
        }
        try again.append(parts("after", 1), keeping: limits)
        #expect(try again.recording().last?.start == "start after")
    }
}
