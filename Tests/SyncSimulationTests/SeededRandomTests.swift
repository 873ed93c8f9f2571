import SyncSimulation
import TestRings
import Testing

@Suite(.ring(.unit))
struct SeededRandomTests {
    @Test func `the numbers are those of xoshiro256 with a state filled by SplitMix64`() {
        // From the reference implementations in C, with seed 0.
        var random = SeededRandom(seed: 0)
        #expect(
            (0..<3).map { _ in random.next() } == [0x99EC_5F36_CB75_F2B4, 0xBF6E_1F78_4956_452A, 0x1A5F_849D_4933_E6E0])
    }

    @Test func `numbers below a bound reach all of it and nothing else`() {
        var random = SeededRandom(seed: 7, stream: "test")
        var seen: Set<Int> = []
        for _ in 0..<1_000 { seen.insert(random.below(10)) }
        #expect(seen == Set(0..<10))
        #expect(random.below(0) == 0)
        #expect(random.below(1) == 0)
    }

    @Test func `a chance comes as often as it says`() {
        var random = SeededRandom(seed: 7, stream: "test")
        let hits = (0..<10_000).count { _ in random.chance(0.25) }
        #expect((2_300...2_700).contains(hits))
        #expect((0..<1_000).allSatisfy { _ in !random.chance(0) })
        #expect((0..<1_000).allSatisfy { _ in random.chance(1) })
    }

    @Test func `streams of one seed differ`() {
        var network = SeededRandom(seed: 7, stream: "network")
        var workload = SeededRandom(seed: 7, stream: "workload")
        #expect(network.next() != workload.next())
    }
}
