import ArgumentParser
import BenchmarkUsers
import Foundation
import SyncRuntimeLive

/// Measures the engine relative to a C program that does the same work in the same run.
@main
struct SyncBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncbench", abstract: "Measure the engine beside the SQLite C API.",
        subcommands: [MeasureCommand.self, ServerCommand.self, DeviceCommand.self],
        defaultSubcommand: MeasureCommand.self)
}

struct MeasureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure", abstract: "Measure everything, and print medians of ratios.",
        discussion: """
            Each line begins with the row id (P1 to P12) and the ratio: the cost of the C program, or of another stated basis, \
            divided by that of the engine. More is better. Figures without a basis have their unit instead.
            """)

    @Option(help: "Number of measurements of each pair. The median is printed.")
    var rounds = 5

    @Option(help: "Users in the databases, a multiple of 1000.")
    var rows: Int64 = 100_000

    @Option(help: "Rows to measure, such as P3,P4. The default is all.", transform: MeasureCommand.rows)
    var only = Set(BenchmarkRow.allCases)

    @Flag(help: "Also measure a first sync and a start with 1,000,000 users.")
    var large = false

    @Option(help: "Seconds for which an idle device and server are watched.")
    var idleSeconds = 60

    @Option(help: "Write the figures to this file, as JSON.")
    var json: String?

    @Option(
        help: """
            Compare the ratios of CPU times and bytes with this record, and fail if one is more than 10 % lower. Wall-clock \
            times depend on disks and on other programs.
            """)
    var gate: String?

    @Option(help: "Measure with 1,000, 10,000, and 100,000 users, and write the costs to this file, as SVG.")
    var plot: String?

    func validate() throws {
        guard rounds > 0, rows >= 1_000, rows % 1_000 == 0, idleSeconds > 0 else {
            throw ValidationError("at least 1 round, a multiple of 1000 rows, and 1 idle second are needed")
        }
        guard plot == nil || (gate == nil && json == nil && !large) else {
            throw ValidationError("--plot makes its own measurements; expected no --gate, --json, or --large with it")
        }
    }

    func run() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "syncbench-\(getpid())")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        // Fail before the measurements if the record cannot be read.
        let earlier = try gate.map { try RunRecord(file: $0) }

        if let plot { return try await plotGrowth(to: plot, in: folder) }
        var figures = try await BenchmarkSuite.all.figures(
            of: only,
            BenchmarkSettings(
                folder: folder, rows: rows, rounds: rounds, changes: rows / 10, idleSeconds: idleSeconds))
        if large {
            figures += try await BenchmarkSuite.large.figures(
                of: only,
                BenchmarkSettings(
                    folder: folder.appending(path: "large"), rows: 1_000_000, rounds: rounds, changes: 10_000,
                    idleSeconds: idleSeconds))
        }
        let record = RunRecord(
            at: Date.now.formatted(.iso8601), machine: Self.machine, rows: rows, rounds: rounds, figures: figures)
        if let json { try record.write(to: json) }
        if let earlier { try check(record, against: earlier) }
    }

    private func check(_ record: RunRecord, against earlier: RunRecord) throws {
        guard record.rows == earlier.rows else {
            throw BenchmarkError(
                "the record of \(earlier.at) is of \(earlier.rows) users, and these figures are of \(record.rows); expected the same number"
            )
        }
        let falls = record.falls(since: earlier)
        let count = record.comparable(with: earlier)
        guard count > 0 else { throw BenchmarkError("the record of \(earlier.at) has none of the measured ratios") }
        guard falls.isEmpty else {
            throw BenchmarkError(
                "\(falls.count) of \(count) ratios fell since \(earlier.at):\n" + falls.joined(separator: "\n"))
        }
        say("\(count) ratios are within 10 % of those of \(earlier.at), or above")
    }

    private func plotGrowth(to file: String, in folder: URL) async throws {
        var runs: [(records: Int64, figures: [Figure])] = []
        for records: Int64 in [1_000, 10_000, 100_000] {
            let settings = BenchmarkSettings(
                folder: folder.appending(path: "\(records)"), rows: records, rounds: rounds, changes: 100,
                idleSeconds: idleSeconds)
            runs.append((records, try await BenchmarkSuite.growing.figures(of: only, settings)))
        }
        let growths = Growth.of(runs)
        let plot = GrowthPlot(growths: growths, title: "Cost by size, \(Self.machine), \(Date.now.formatted(.iso8601))")
        try Data(plot.svg.utf8).write(to: URL(filePath: file))
        for growth in growths {
            let costs = growth.points.map { GrowthPlot.duration($0.microseconds) }.joined(separator: ", ")
            say("\(growth.row.rawValue) \(growth.exponents): \(growth.name) (\(growth.unit)): \(costs)")
        }
    }

    /// The kind of machine, for people who compare records.
    private static var machine: String {
        let lines = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n") ?? []
        let model = lines.first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? " unknown processor"
        return "\(ProcessInfo.processInfo.activeProcessorCount) cores,\(model)"
    }

    private static func rows(_ text: String) throws -> Set<BenchmarkRow> {
        Set(
            try text.split(separator: ",").map { name in
                guard let row = BenchmarkRow(rawValue: String(name)) else {
                    let names = BenchmarkRow.allCases.map(\.rawValue).joined(separator: ", ")
                    throw ValidationError("there is no row \(name); expected some of \(names)")
                }
                return row
            })
    }
}

/// Writes a line immediately, even into a pipe. Does not use stdio: flushing it can block on another thread's read.
func say(_ line: String) {
    ByteSink.standardOutput.write(line + "\n")
}
