import Logging
import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncRecording
import SyncSimulation
import SyncStoreSQLite
import TestRings
import Testing

/// A recording store that notes the time and the number of parts of each append, and stores nothing.
private final class CountingRing: RecordingStore {
    private let uptime: @Sendable () -> Duration
    private let failure: StoreError?
    private let noted = Guarded([(at: Duration, parts: Int)]())

    init(uptime: @escaping @Sendable () -> Duration, failure: StoreError?) {
        self.uptime = uptime
        self.failure = failure
    }

    var appends: [(at: Duration, parts: Int)] { noted.withLock { $0 } }

    func append(_ parts: [RecordingPart], keeping limits: RecordingLimits) throws(StoreError) {
        let now = uptime()
        noted.withLock { $0.append((now, parts.count)) }
        if let failure { throw failure }
    }

    func recording() throws(StoreError) -> [RecordingSegment] { [] }
    func recordingSummary() throws(StoreError) -> RecordingSummary { RecordingSummary() }
    func clearRecording() throws(StoreError) {}
}

/// Runs devices with a flight recorder through faults, and replays the recordings in their databases.
@Suite(.ring(.check), .onWorldThreads) struct RecordedWorldTests {
    /// The recordings that the starts of all devices have found.
    private struct Found: Sendable {
        var starts = 0
        var turns = 0
        var largest = 0
        var differences: [String] = []
        var exported: [[UInt8]] = []
    }

    private static let capacity = 200

    /// Returns parts in which a device, at each start, checks the recording of its earlier runs and continues it.
    private static func parts(_ found: Guarded<Found>) -> WorldParts {
        var parts = WorldParts.onSQLite()
        parts.recorder = { store, runtime in
            guard let ring = store as? SQLiteStore else { return nil }
            inspect(at: ring, found)
            return RingRecorder(
                store: ring, turns: capacity, salt: (runtime.random(), runtime.random()),
                logger: Logger(label: "recorder", factory: { _ in SwiftLogNoOpLogHandler() }))
        }
        return parts
    }

    private static func inspect(at ring: SQLiteStore, _ found: Guarded<Found>) {
        // The disk may fail here. The next start of the device checks again.
        guard let segments = try? ring.recording() else { return }
        let reader = RingReader(segments)
        var replay = Replay()
        let differences =
            reader.problems.map(\.description) + reader.entries.compactMap { replay.follow($0).difference?.description }
        let recording = Recording(
            header: RecordingHeader(exportedAt: WallTime(milliseconds: 1), build: "test", schema: 2),
            entries: reader.entries)
        found.withLock { found in
            found.starts += 1
            found.turns += recording.turnCount
            found.largest = max(found.largest, recording.turnCount)
            found.differences += differences
            if !reader.entries.isEmpty { found.exported.append(RecordingFile.bytes(recording)) }
        }
    }

    private static func plan(_ seed: UInt64) -> WorldPlan {
        var plan = WorldPlan.drawn(seed: seed, steps: 150)
        // Many moments lead to many crashes. With these pauses, most runs last longer than the second after which turns
        // are saved.
        plan.burst = 1
        plan.pause = .milliseconds(200)...(.seconds(5))
        plan.rates.killDevice = max(plan.rates.killDevice, 0.05)
        // A cloned disk would contain a recording of another device.
        plan.rates.cloneDevice = 0
        plan.rates.losePowerOfDevice = max(plan.rates.losePowerOfDevice, 0.02)
        return plan
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `a replay of recordings between crashes repeats every action`(seed: UInt64) throws {
        let found = Guarded(Found())
        _ = try World(Self.plan(seed), parts: Self.parts(found)).run()
        let result = found.withLock { $0 }
        #expect(result.differences == [])
        #expect(result.starts > 5)
        #expect(result.turns > 200, "\(result.turns)")
        #expect(result.largest <= Self.capacity)
        for bytes in result.exported.suffix(3) {
            var replay = Replay()
            let recording = try RecordingFile.recording(bytes)
            #expect(recording.entries.compactMap { replay.follow($0).difference } == [])
        }
    }

    @Test func `turns are saved at most once a second, and a failing ring does not affect syncs`() throws {
        let rings = Guarded([CountingRing]())
        for failure in [
            nil, StoreError(.diskFull, "no space is left"), StoreError(.busy, "another program writes"),
        ] {
            rings.withLock { $0 = [] }
            var parts = WorldParts.onSQLite()
            parts.recorder = { _, runtime in
                let ring = CountingRing(uptime: runtime.uptime, failure: failure)
                rings.withLock { $0.append(ring) }
                return RingRecorder(
                    store: ring, turns: Self.capacity, salt: (1, 2),
                    logger: Logger(label: "recorder", factory: { _ in SwiftLogNoOpLogHandler() }))
            }
            _ = try World(.drawn(seed: 5, steps: 120), parts: parts).run()
            let made = rings.withLock { $0 }
            let appends = made.map(\.appends)
            #expect(appends.contains { !$0.isEmpty })
            if failure?.code == .diskFull { #expect(appends.allSatisfy { $0.count <= 1 }) }
            for ring in appends where failure == nil {
                // The last append happens when the device stops, and a full buffer is saved at once. The intervals
                // around these appends are not checked, because they may be shorter than a second.
                for (earlier, later) in zip(ring, ring.dropFirst().dropLast())
                where max(earlier.parts, later.parts) < 64 {
                    #expect(later.at - earlier.at >= .seconds(1))
                }
                #expect(ring.isEmpty || ring.reduce(0) { $0 + $1.parts } > ring.count)
            }
        }
    }

    @Test func `runs with a recorder are reproducible, and so are the recordings`() throws {
        let (one, other) = (Guarded(Found()), Guarded(Found()))
        let first = try World(Self.plan(3), parts: Self.parts(one)).run()
        let second = try World(Self.plan(3), parts: Self.parts(other)).run()
        #expect(first == second)
        #expect(one.withLock { $0.exported } == other.withLock { $0.exported })
    }

    @Test func `a replay detects a planted change at the turn where it occurs`() throws {
        let found = Guarded(Found())
        _ = try World(Self.plan(2), parts: Self.parts(found)).run()
        let bytes = try #require(found.withLock { $0.exported.max { $0.count < $1.count } })
        var recording = try RecordingFile.recording(bytes)
        // The changed text is what a build would record whose pulls request another number of rows.
        let index = try #require(
            recording.entries.firstIndex { entry in
                if case .turn(let turn) = entry { turn.actions.contains { $0.hasPrefix("pull ") } } else { false }
            })
        guard case .turn(var turn) = recording.entries[index] else { return }
        turn.actions = turn.actions.map { $0.replacing(" rows", with: "0 rows") }
        recording.entries[index] = .turn(turn)
        var replay = Replay()
        let differences = try RecordingFile.recording(RecordingFile.bytes(recording)).entries.compactMap {
            replay.follow($0).difference
        }
        #expect(differences.count == 1)
        #expect(differences.first?.description.contains("0 rows; replayed: pull ") == true, "\(differences)")
    }
}
