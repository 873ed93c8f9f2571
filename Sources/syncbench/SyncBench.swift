import ArgumentParser
import Foundation

/// Prints what the engine costs, as ratios to the SQLite C API doing the same work in the same run.
@main
struct SyncBench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "syncbench", abstract: "Measure the engine beside the SQLite C API.")

    @Option(help: "How often each pair is measured; the medians are printed.")
    var rounds = 5

    @Option(help: "Users in the local database.")
    var rows: Int64 = 100_000

    func validate() throws {
        guard rounds > 0, rows >= 1_000 else { throw ValidationError("at least 1 round and 1000 rows are needed") }
    }

    func run() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "syncbench-\(getpid())")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        Self.show(try LocalDuels(folder: folder, rows: rows).run(rounds: rounds))
    }

    private static func show(_ rows: [Row]) {
        for row in rows {
            print(
                "\(row.name): \(text(row.ratio)) of the floor (\(Int(row.ours)) against \(Int(row.floor)) \(row.unit))")
        }
    }

    private static func text(_ ratio: Double) -> String {
        String(format: "%.2f", ratio)
    }
}
