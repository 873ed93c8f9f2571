import ArgumentParser
import SimulationRecipes
import SyncConcurrency
import SyncSimulation

struct CrashCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "crash", abstract: "Fail a disk at every single operation of named scenarios.",
        discussion: """
            Repeats each scenario with the fault at the first operation, the second, the third, and so on, until the \
            scenario ends before the fault. Faults: power loss, kill, I/O error, full disk, busy lock, on the server and on \
            each device.
            """)

    @Option(help: "Try only every Nth operation.")
    var every = 1

    @OptionGroup var workers: Workers

    @Flag(help: "List the series without running them.")
    var list = false

    func validate() throws {
        guard every > 0 else { throw ValidationError("--every \(every) is not possible; give 1 or more.") }
    }

    func run() throws {
        if list {
            for series in CrashSeries.all { Output.write("\(series)") }
            return
        }
        let done = Guarded(0)
        let counts = try workers.map(CrashSeries.all) { series in
            let count = try series.run(every: every) { try World($0, parts: .onSQLite()).run() }
            // The lock keeps the numbers in order.
            done.withLock { done in
                done += 1
                Output.note("\(done) of \(CrashSeries.all.count) series: \(count) crash points of \(series)")
            }
            return count
        }
        var byScenario: [String: Int] = [:]
        for (series, count) in zip(CrashSeries.all, counts) { byScenario[series.scenario.name, default: 0] += count }
        for scenario in CrashScenario.all { Output.write("\(byScenario[scenario.name] ?? 0)\t\(scenario.name)") }
        Output.write("\(counts.reduce(0, +)) crash points of \(CrashSeries.all.count) series, all invariants kept")
    }
}
