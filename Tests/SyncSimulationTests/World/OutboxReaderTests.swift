import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncModel
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

/// Tests how the oracles read the outbox: an entry is decoded again only after its row in the file has changed.
@Suite(.ring(.unit)) struct OutboxReaderTests {
    private let process = SimulatedDisk(seed: 1).makeProcess()
    private let store: SimulatedDevice.Store
    private let inspector: any ReplicaInspector
    private let now: WallTime

    init() throws {
        let parts = WorldParts.onSQLite()
        let simulation = Simulation(seed: 1)
        let runtime = simulation.makeRuntime(device: "a", wallClock: simulation.makeWallClock())
        now = runtime.now()
        store = try parts.openStore(process, runtime, DeviceStorage())
        let audit = try #require(parts.auditReplica)
        inspector = try audit(process)
        for number in 0..<5 {
            var random = SeededRandom(seed: UInt64(number))
            let id = RecordID.make(at: runtime.now(), random: &random)
            _ = try store.commit(
                [.create("customer", id, ["name": .text("\(number)")])], in: .default, now: runtime.now())
        }
    }

    /// Reads the outbox. Returns all entries, and the number of entries that had to be decoded.
    private func read(
        _ reader: inout OutboxReader, _ show: @escaping @Sendable ([OutboxEntry]) -> [OutboxEntry] = { $0 }
    ) throws -> (entries: [OutboxEntry], decoded: Int) {
        let decoded = Guarded(0)
        var counting = PlantedStore(store)
        counting.onOutbox = { entries in
            decoded.withLock { $0 += entries.count }
            return show(entries)
        }
        let entries = try reader.entries(of: counting, holding: try inspector.outbox(), on: "a")
        return (entries, decoded.withLock { $0 })
    }

    @Test func `an unchanged entry is not decoded again`() throws {
        var reader = OutboxReader()
        let first = try read(&reader)
        let shown = try store.outbox(limit: .max)
        #expect(first.entries == shown)
        #expect(first.decoded == 5)
        let second = try read(&reader)
        #expect(second.entries == first.entries)
        #expect(second.decoded == 0)
    }

    @Test func `only changed entries are decoded again`() throws {
        var reader = OutboxReader()
        let before = try read(&reader).entries
        _ = try store.takeBatch(BatchLimit(transactions: 2, bytes: 10_000), now: now)
        try store.cancel(before[3].sequence, now: WallTime(milliseconds: 0))
        let after = try read(&reader)
        let shown = try store.outbox(limit: .max)
        #expect(after.entries == shown)
        #expect(after.entries.map(\.sequence) == [0, 1, 2, 4].map { before[$0].sequence })
        #expect(after.decoded == 2)
    }

    @Test func `a store that hides an entry of its file is detected`() throws {
        var reader = OutboxReader()
        let violation = #expect(throws: Violation.self) {
            _ = try read(&reader) { Array($0.dropLast()) }
        }
        #expect(violation?.invariant == .I1)
    }
}
