import SyncSimulation
import TestRings
import Testing

@testable import syncsim

/// Tests which faults `syncsim --faults` keeps in a world.
@Suite(.ring(.unit)) struct FaultSelectionTests {
    /// Returns all rates of a plan by name.
    private static func rates(_ plan: WorldPlan) -> [String: Double] {
        Dictionary(
            uniqueKeysWithValues: Mirror(reflecting: plan.rates).children.compactMap { child in
                guard let name = child.label, let rate = child.value as? Double else { return nil }
                return (name, rate)
            })
    }

    private static func limited(_ argument: String, seed: UInt64) throws -> WorldPlan {
        var plan = WorldPlan.drawn(seed: seed, steps: 200)
        try #require(FaultSelection(argument: argument)).limit(&plan)
        return plan
    }

    @Test func `each rate except the recovery rate is in exactly one class`() {
        let names = Self.rates(WorldPlan.calm(seed: 0)).keys
        let classified = FaultClass.allCases.flatMap(\.rates)
        #expect(names.count > 20 && names.contains("recover"))
        #expect(classified.count == names.count - 1, "a rate is in no class, or in two: \(names.sorted())")
        #expect(Set(classified).count == classified.count)
        #expect(!classified.contains(\.recover))
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `the selection none keeps only recovery`(seed: UInt64) throws {
        let plan = try Self.limited("none", seed: seed)
        for (name, rate) in Self.rates(plan) where name != "recover" { #expect(rate == 0, "\(name)") }
        #expect(plan.rates.recover > 0)
        #expect(plan.setting.network == .calm)
        #expect(plan.setting.slowProcessor == 0)
        for happening in plan.script.moments.flatMap(\.happenings) {
            switch happening {
            case .operation, .device(_, .recovers), .server(.recovers): continue
            case .device, .server, .disk: Issue.record("\(happening)")
            }
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `the selection all keeps a plan unchanged`(seed: UInt64) throws {
        #expect(try Self.limited("all", seed: seed) == WorldPlan.drawn(seed: seed, steps: 200))
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `a selection of classes keeps only their faults`(seed: UInt64) throws {
        let drawn = WorldPlan.drawn(seed: seed, steps: 200)
        let plan = try Self.limited("disk,clock", seed: seed)
        for rate in FaultClass.disk.rates + FaultClass.clock.rates {
            #expect(plan.rates[keyPath: rate] == drawn.rates[keyPath: rate])
        }
        for rate in FaultClass.network.rates + FaultClass.process.rates + FaultClass.server.rates {
            #expect(plan.rates[keyPath: rate] == 0)
        }
        #expect(plan.setting.network == .calm)
    }

    @Test(arguments: ["", "networks", "disk,", "all,disk", "disk;clock"])
    func `an invalid selection is refused`(argument: String) {
        let selection = FaultSelection(argument: argument)
        #expect(selection == nil)
    }
}
