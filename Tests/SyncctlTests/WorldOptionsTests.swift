import TestRings
import Testing

@testable import syncsim

/// Tests which options of `syncsim` are accepted.
@Suite(.ring(.unit)) struct WorldOptionsTests {
    /// Returns the options of an empty command line.
    private static func options() -> WorldOptions {
        var options = WorldOptions()
        options.seed = nil
        options.script = nil
        options.clients = nil
        options.steps = nil
        options.faults = nil
        options.until = nil
        return options
    }

    static let shapes: [@Sendable (inout WorldOptions) -> Void] = [
        { $0.clients = 2 }, { $0.steps = 500 }, { $0.faults = .all },
    ]

    @Test(arguments: shapes.indices)
    func `an option that shapes the world of a seed is refused with a script`(place: Int) throws {
        var options = Self.options()
        options.script = "any.world"
        options.until = 5
        try options.validate()
        Self.shapes[place](&options)
        #expect(throws: (any Error).self) { try options.validate() }
        options.script = nil
        options.seed = 3
        try options.validate()
    }

    static let impossible: [(UInt64, UInt64, Int)] = [
        (0, 0, 500), (.max, 1, 500), (.max - 5, 6, 500), (0, 1, 0),
    ]

    @Test(arguments: impossible)
    func `a soak refuses seeds and steps that are out of range`(from: UInt64, seeds: UInt64, steps: Int) {
        var command = SoakCommand()
        command.from = from
        command.seeds = seeds
        command.steps = steps
        #expect(throws: (any Error).self) { try command.validate() }
    }

    @Test func `more threads than processors count as one per processor`() {
        var workers = Workers()
        workers.threads = nil
        let all = workers.count
        workers.threads = 1_024
        #expect(workers.count == all)
        workers.threads = 1
        #expect(workers.count == 1)
    }
}
