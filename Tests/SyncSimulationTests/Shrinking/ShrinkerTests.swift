import SimulationRecipes
import SyncSimulation
import TestRings
import Testing

@testable import PlantedBugs

@Suite(.ring(.test), .onWorldThreads) struct ShrinkerTests {
    @Test(.ring(.check)) func `a failing world is reduced to the few events that make it fail`() throws {
        let (script, failure) = try Self.failing(.appliesRepeatsAgain)
        var shrinker = Shrinker(budget: 300) { Self.run($0, .appliesRepeatsAgain) }
        let found = shrinker.shrink(script)
        let smallest = try #require(found)
        #expect(smallest.size < script.size / 5, "\(smallest.size) of \(script.size)")
        #expect(Self.run(smallest, .appliesRepeatsAgain) == failure)
        #expect(Self.run(smallest, nil) == nil, "the real fault is the planted one")
        #expect(try Self.run(WorldScript(text: smallest.text), .appliesRepeatsAgain) == failure)
    }

    @Test func `a world that keeps every promise cannot be reduced`() {
        var shrinker = Shrinker { Self.run($0, nil) }
        let found = shrinker.shrink(WorldPlan.calm(seed: 1, steps: 5).script)
        #expect(found == nil)
        #expect(shrinker.runs == 1)
    }

    @Test func `a smaller script counts only if it fails in the same way`() throws {
        // Without the kill, the script fails in a different way, so the kill must stay.
        let script = WorldScript(
            setting: WorldSetting(seed: 1, devices: 3),
            moments: (0..<40).map { number in
                WorldScript.Moment([number == 17 ? .server(.killed) : .server(.recovers)], pause: .seconds(1))
            })
        func failure(_ invariant: Invariant) -> Shrinker.Failure {
            Shrinker.Failure(
                WorldError(script: script, step: 1, cause: Violation(invariant, ""), lastLines: []))
        }
        var shrinker = Shrinker { script in
            script.moments.contains { $0.happenings.contains(.server(.killed)) } ? failure(.I1) : failure(.I2)
        }
        let found = shrinker.shrink(script)
        let smallest = try #require(found)
        #expect(smallest.moments.flatMap(\.happenings) == [.server(.killed)])
        #expect(smallest.moments.count == 1)
        #expect(smallest.setting.devices == 1)
    }

    // MARK: Worlds that fail

    private static func failing(_ bug: PlainAuthority.Bug) throws -> (WorldScript, Shrinker.Failure) {
        for seed in 0..<60 as Range<UInt64> {
            let script = WorldPlan.drawnForPlain(seed: seed, steps: 100).script
            if let failure = run(script, bug) { return (script, failure) }
        }
        throw Violation(.I2, "\(bug) was not found")
    }

    private static func run(_ script: WorldScript, _ bug: PlainAuthority.Bug?) -> Shrinker.Failure? {
        do throws(WorldError) {
            _ = try World(script, parts: .plain(bug: bug)).run()
            return nil
        } catch {
            return Shrinker.Failure(error)
        }
    }
}
