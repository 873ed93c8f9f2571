import SyncSimulation
import Testing

@Suite
struct WorldTests {
    @Test func `a calm world comes to rest`() throws {
        let report = try World(.calm(seed: 1), parts: .real()).run()
        #expect(report.deeds > 50)
        #expect(report.commits > 30)
        #expect(Set(report.refusals.keys).isSubset(of: ["stillReferenced"]), "\(report.refusals)")
        #expect(report.timeToRest < .seconds(60))
    }

    @Test func `the same seed gives the same world`() throws {
        for seed in 0..<4 as Range<UInt64> {
            let first = try World(.drawn(seed: seed, steps: 60), parts: .real()).run()
            let second = try World(.drawn(seed: seed, steps: 60), parts: .real()).run()
            #expect(first == second)
        }
    }

    @Test func `worlds of many seeds keep every promise`() throws {
        for seed in 0..<30 as Range<UInt64> {
            _ = try World(.drawn(seed: seed, steps: 100), parts: .real()).run()
        }
    }
}

@Suite
struct MutantTests {
    /// The proof that the oracles see: a world with a planted bug does not get far.
    @Test(arguments: PlainAuthority.Mutant.allCases)
    func `a planted bug is found`(mutant: PlainAuthority.Mutant) throws {
        for seed in 0..<60 as Range<UInt64> {
            do {
                _ = try World(.drawn(seed: seed, steps: 150), parts: .plain(mutant: mutant)).run()
            } catch {
                #expect(error.cause is Violation, "\(error)")
                return
            }
        }
        Issue.record("\(mutant) was not found in 60 worlds")
    }
}
