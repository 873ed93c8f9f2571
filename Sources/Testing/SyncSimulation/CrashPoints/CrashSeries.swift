/// A scenario with one kind of fault on one disk, run once for each operation that the fault can affect.
///
/// The series ends when a run no longer meets the fault. In each run, the processes that the fault has killed start
/// again with the production code's recovery, and all oracles check the result.
public struct CrashSeries: Hashable, Sendable {
    public let scenario: CrashScenario
    public let party: Party
    public let operations: DiskOperations
    public let effect: DiskFault.Effect
    /// Whether the fault affects all later operations until all faults end, rather than only one operation.
    public let isSticky: Bool

    /// All series.
    public static let all: [CrashSeries] = CrashScenario.all.flatMap { scenario in
        let parties = [Party.server] + (0..<scenario.script.setting.devices).map(Party.device)
        return parties.flatMap { party in kinds.map { CrashSeries(scenario, party, $0.0, $0.1, isSticky: $0.2) } }
    }

    private static let kinds: [(DiskOperations, DiskFault.Effect, Bool)] = [
        (.changes, .losePower, false), (.changes, .kill, false),
        (.changes, .fail(.inputOutput), false), (.changes, .fail(.inputOutput), true),
        ([.write, .truncate], .fail(.full), false), ([.write, .truncate], .fail(.full), true),
        (.read, .fail(.inputOutput), false), ([.lock, .sharedMemoryLock], .fail(.busy), false),
        ([.open, .access], .fail(.cannotOpen), false),
    ]

    private init(
        _ scenario: CrashScenario, _ party: Party, _ operations: DiskOperations, _ effect: DiskFault.Effect,
        isSticky: Bool
    ) {
        self.scenario = scenario
        self.party = party
        self.operations = operations
        self.effect = effect
        self.isSticky = isSticky
    }

    /// Returns the script with the fault at one point.
    public func script(at point: Int) -> WorldScript {
        var script = scenario.script
        // Without the seed, all points would draw the same numbers: for example, all losses of power would take the
        // whole unsynced data, or all would take a part of it.
        script.planned = [
            .init(
                party, DiskFault(operations, skip: point, times: isSticky ? nil : 1, effect: effect),
                seed: UInt64(point))
        ]
        return script
    }

    /// Runs the scenario with the fault at every `stride`-th point of the series.
    ///
    /// - Parameters:
    ///   - stride: the distance between points; 1 for all points.
    ///   - run: runs a world. An error that it throws ends the series.
    /// - Returns: the number of points that were run.
    public func run(every stride: Int = 1, _ run: (WorldScript) throws -> WorldReport) rethrows -> Int {
        var point = 0
        var count = 0
        while true {
            guard try run(script(at: point)).coverage.diskFaults > 0 else { return count }
            count += 1
            point += max(stride, 1)
        }
    }
}

extension CrashSeries: CustomStringConvertible {
    public var description: String {
        let fault: String =
            switch effect {
            case .losePower: "power lost"
            case .kill: "killed"
            case .fail(let answer): "\(answer)"
            }
        return "\(scenario.name): \(party) \(fault) at \(operations.words)\(isSticky ? ", and from then on" : "")"
    }
}
