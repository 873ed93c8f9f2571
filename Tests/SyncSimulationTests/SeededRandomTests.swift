import SyncSimulation
import TestRings
import Testing

@Suite(.ring(.unit))
struct SeededRandomTests {
    @Test func `the generator is xoshiro256 with a state from SplitMix64`() {
        // The expected numbers come from the reference implementations in C, with seed 0.
        var random = SeededRandom(seed: 0)
        #expect(
            (0..<3).map { _ in random.next() } == [0x99EC_5F36_CB75_F2B4, 0xBF6E_1F78_4956_452A, 0x1A5F_849D_4933_E6E0])
    }

    @Test func `random numbers below a bound cover all values below it and no others`() {
        var random = SeededRandom(seed: 7, stream: "test")
        var seen: Set<Int> = []
        for _ in 0..<1_000 { seen.insert(random.below(10)) }
        #expect(seen == Set(0..<10))
        #expect(random.below(0) == 0)
        #expect(random.below(1) == 0)
    }

    @Test func `an event with a given probability occurs with that frequency`() {
        var random = SeededRandom(seed: 7, stream: "test")
        let hits = (0..<10_000).count { _ in random.chance(0.25) }
        #expect((2_300...2_700).contains(hits))
        #expect((0..<1_000).allSatisfy { _ in !random.chance(0) })
        #expect((0..<1_000).allSatisfy { _ in random.chance(1) })
    }

    @Test func `different streams of one seed give different numbers`() {
        var network = SeededRandom(seed: 7, stream: "network")
        var workload = SeededRandom(seed: 7, stream: "workload")
        #expect(network.next() != workload.next())
    }
}
