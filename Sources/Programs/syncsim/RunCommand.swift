import ArgumentParser
import Foundation
import SimulationRecipes
import SyncSimulation

struct RunCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run one world, and print its events.")

    @OptionGroup var options: WorldOptions

    @Flag(help: "Show every event, not only the last ones before a failure.")
    var trace = false

    @Flag(help: "Run it twice, and compare the traces.")
    var twice = false

    @Option(
        help: ArgumentHelp(
            "Write a space-time diagram of the run, even if it fails, as a self-contained HTML page.",
            valueName: "file.html"))
    var report: String?

    func run() throws {
        let script = try options.load()
        let report = try recorded(script)
        if twice, try once(script) != report {
            throw ProgramError(
                message: "the same world ran differently the second time", status: ProgramError.propertyViolation)
        }
        Output.write(
            """
            seed \(report.seed): every promise was kept
              \(report.operations) operations, \(report.commits) commits of the server, \(report.duration) of virtual time
              at rest \(report.timeToRest) after the last fault
              \(report.jobs) jobs, \(report.diskOperations) operations of disks, trace \(String(report.hash, radix: 16))
            """)
        if report.lostCommits > 0 {
            Output.write(
                "  \(report.lostCommits) commits lost in power failures of devices that do not flush each commit")
        }
        for (refusal, count) in report.refusals.sorted(by: { $0.key < $1.key }) {
            Output.write("  \(count) operations refused: \(refusal)")
        }
        for fault in FaultKind.allCases where report.coverage.total(of: fault) > 0 {
            Output.write("  \(report.coverage.total(of: fault)) times \(fault.rawValue)")
        }
    }

    /// Runs the world, and writes the HTML report if one was requested.
    private func recorded(_ script: WorldScript) throws -> WorldReport {
        guard let path = report else { return try once(script) }
        let recording = WorldRecording()
        let result = Result { try once(script, recording) }
        do {
            try Data(HTMLReport(recording).write()).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            let failure = ProgramError(
                message: "the report cannot be written to \(path): \(error.localizedDescription)",
                status: ProgramError.machine)
            // A broken promise takes precedence over a report that could not be written.
            guard case .failure = result else { throw failure }
            Output.note("syncsim: \(failure.message)")
        }
        return try result.get()
    }

    private func once(_ script: WorldScript, _ recording: WorldRecording? = nil) throws -> WorldReport {
        if trace { for line in script.setting.lines { Output.note(line) } }
        let world = World(
            script, parts: .onSQLite(), traceCapacity: trace ? 10_000_000 : 512, recording: recording)
        defer { if trace { for line in world.simulation.trace.lines { Output.note("\(line)") } } }
        do {
            return try world.run()
        } catch {
            throw ProgramError(message: "\(error)", status: ProgramError.propertyViolation)
        }
    }
}
