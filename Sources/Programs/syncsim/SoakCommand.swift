import ArgumentParser
import SimulationRecipes
import SyncConcurrency
import SyncCore
import SyncRuntimeLive
import SyncSimulation

struct SoakCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak", abstract: "Run the worlds of many seeds on all processors.",
        discussion: """
            Ends at the first broken promise, after all seeds, or after the given number of operations.
            """)

    @Option(help: "First seed.")
    var from: UInt64 = 0

    @Option(help: "Number of seeds.")
    var seeds: UInt64 = 2_000

    @Option(help: "Number of user operations in each world.")
    var steps = 500

    @Option(help: "End after this number of user operations.")
    var operations: Int?

    @OptionGroup var workers: Workers

    @Flag(help: "Fail if a fault has not occurred in every phase where it can.")
    var covered = false

    @Flag(help: "Run each world twice, and compare the traces.")
    var twice = false

    @Flag(help: "Continue after a violation, and report all violations at the end.")
    var keepGoing = false

    /// The combined results of all threads.
    private struct Tally {
        var next: UInt64
        var worlds = 0
        var operations = 0
        var effective = 0
        var commits = 0
        var longestRest = Duration.zero
        var coverage = FaultCoverage()
        var broken: [(seed: UInt64, text: String)] = []
        /// The combined hash of all traces, independent of their order.
        var hash: UInt64 = 0
        var lastReport = Duration.zero
    }

    func validate() throws {
        guard seeds > 0, UInt64.max - from >= seeds else {
            throw ValidationError(
                "--from \(from) and --seeds \(seeds) are not possible together; give 1 seed or more, and a last seed below 2^64 − 1."
            )
        }
        guard (1...10_000_000).contains(steps) else {
            throw ValidationError("--steps \(steps) is not possible; give a number from 1 to 10000000.")
        }
    }

    func run() throws {
        let runtime = EngineRuntime.live()
        let started = runtime.uptime()
        let tally = Guarded(Tally(next: from))
        workers.run { _ in
            while let seed = tally.withLock({ takeSeed(&$0) }) {
                let result = runWorld(seed)
                tally.withLock { tally in
                    add(result, of: seed, to: &tally)
                    tell(&tally, after: runtime.uptime() - started)
                }
            }
        }
        let took = runtime.uptime() - started
        let result = tally.withLock { $0 }
        let rate = Double(result.operations) / max(took / .seconds(1), 0.001)
        for line in result.coverage.table { Output.write(line) }
        Output.write(
            """
            \(result.worlds) worlds, \(result.operations) operations (\(result.effective) had an effect), \(result.commits) commits, \(result.broken.count) broken promises
            \(Int(rate)) operations a second, \(Int(rate / Double(workers.count))) on each of \(workers.count) threads
            longest time to rest after the last fault: \(result.longestRest.components.seconds) seconds of virtual time
            trace of all: \(String(result.hash, radix: 16))
            """)
        for broken in result.broken { Output.note("seed \(broken.seed): \(broken.text)\n") }
        if !result.broken.isEmpty {
            let seeds = result.broken.map { "\($0.seed)" }.joined(separator: ", ")
            throw ProgramError(
                message: "failed seeds: \(seeds)", status: ProgramError.propertyViolation)
        }
        if covered, !result.coverage.missing.isEmpty {
            throw ProgramError(
                message: "never seen: \(result.coverage.missing.map(\.description).joined(separator: "; "))",
                status: ProgramError.propertyViolation)
        }
    }

    private func takeSeed(_ tally: inout Tally) -> UInt64? {
        guard tally.next < from + seeds, keepGoing || tally.broken.isEmpty else { return nil }
        if let operations, tally.operations >= operations { return nil }
        defer { tally.next += 1 }
        return tally.next
    }

    private func runWorld(_ seed: UInt64) -> Result<WorldReport, any Error> {
        let script = WorldPlan.drawn(seed: seed, steps: steps).script
        do {
            let report = try World(script, parts: .onSQLite()).run()
            if twice {
                let again = try World(script, parts: .onSQLite()).run()
                guard again == report else {
                    throw ProgramError(
                        message: "the same world ran differently the second time: \(again), not \(report)",
                        status: ProgramError.propertyViolation)
                }
            }
            return .success(report)
        } catch {
            return .failure(error)
        }
    }

    private func add(_ result: Result<WorldReport, any Error>, of seed: UInt64, to tally: inout Tally) {
        tally.worlds += 1
        switch result {
        case .failure(let failure):
            tally.broken.append((seed, "\(failure)"))
            Output.note("seed \(seed) failed")
        case .success(let report):
            tally.operations += steps
            tally.effective += report.operations
            tally.commits += report.commits
            tally.longestRest = max(tally.longestRest, report.timeToRest)
            tally.coverage.add(report.coverage)
            tally.hash ^= report.hash
        }
    }

    private func tell(_ tally: inout Tally, after time: Duration) {
        guard time - tally.lastReport > .seconds(10) else { return }
        tally.lastReport = time
        Output.note("\(tally.worlds) worlds, \(tally.operations) operations, \(tally.broken.count) violations")
    }
}
