import ArgumentParser
import Foundation
import SyncRuntimeLive

/// Prints the engine's speed relative to the SQLite C API doing the same work in the same run.
@main
struct SyncBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncbench", abstract: "Measure the engine beside the SQLite C API.",
        subcommands: [MeasureCommand.self, ServerCommand.self, DeviceCommand.self],
        defaultSubcommand: MeasureCommand.self)
}

struct MeasureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure", abstract: "Measure everything, and print medians of ratios.")

    @Option(help: "How often each pair is measured; the medians are printed.")
    var rounds = 5

    @Option(help: "Users in the databases, a multiple of 1000.")
    var rows: Int64 = 100_000

    func validate() throws {
        guard rounds > 0, rows >= 1_000, rows % 1_000 == 0 else {
            throw ValidationError("at least 1 round, and a multiple of 1000 rows, are needed")
        }
    }

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "syncbench-\(getpid())")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }

        for row in try LocalBenchmarks(folder: folder, rows: rows).run(rounds: rounds) { Self.show(row) }
        let sync = SyncBenchmarks(folder: folder)
        let first = try sync.firstSync(of: rows, rounds: rounds)
        Self.show(first.row)
        say("  its peak memory: \(Int(first.peakBytes / 1_048_576)) MiB")
        let large = try sync.delta(of: 1_000, in: rows, rounds: rounds)
        let small = try sync.delta(of: 1_000, in: 1_000, rounds: rounds)
        say(
            "delta of 1000 changes: \(rows) users cost \(Self.text(large / small)) times as much as 1000 users (\(Self.text(large * 1_000)) against \(Self.text(small * 1_000)) ms of CPU)"
        )
    }

    private static func show(_ row: Row) {
        say("\(row.name): \(text(row.ratio)) of the floor (\(Int(row.ours)) against \(Int(row.floor)) \(row.unit))")
    }

    private static func text(_ number: Double) -> String {
        String(format: "%.2f", number)
    }
}

/// Writes a line immediately, even into a pipe. Does not use stdio, because flushing all of its streams waits for a
/// thread that reads from one.
func say(_ line: String) {
    ByteSink.standardOutput.write(line + "\n")
}
