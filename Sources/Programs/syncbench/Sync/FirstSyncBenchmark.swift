import BenchmarkUsers
import CRawSQLite
import Foundation
import SyncModel

/// A first sync over loopback HTTP, with the server and the device in separate processes.
struct FirstSyncBenchmark {
    let settings: BenchmarkSettings

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() throws -> [Figure] {
        let rows = settings.rows
        let server = try BenchmarkServer(folder: try settings.subfolder("server-first"), rows: rows)
        defer { server.stop() }
        var peaks: [Double] = []
        var round = 0
        func ours() throws -> Cost {
            round += 1
            let folder = try settings.subfolder("first-\(round)")
            let device = try BenchmarkDevice.sync(in: folder, with: server, expecting: rows)
            peaks.append(device.peakBytes / 1_048_576)
            try FileManager.default.removeItem(at: folder)
            return device.cost
        }
        let name = "first sync over loopback HTTP"
        let first = try Comparison(
            row: .firstSync, name: name, size: settings.users, units: Int(rows), unit: "rows",
            basis: { try load(keyed: false) }, ours: ours
        ).run(rounds: settings.rounds)
        let keyed = try Comparison(
            row: .firstSync, name: "\(name), beside a table with the same keys", size: settings.users,
            units: Int(rows), unit: "rows", basis: { try load(keyed: true) }, ours: ours
        ).run(rounds: settings.rounds)
        return [
            first, keyed,
            Figure(
                row: .memory, name: "peak memory of the device during it", size: settings.users, unit: "MiB",
                ours: peaks.median),
        ]
    }

    /// Writes the users into a new file with the C program.
    private func load(keyed: Bool) throws -> Cost {
        let url = settings.folder.appending(path: "load.db")
        defer { try? FileManager.default.removeItem(at: url) }
        guard let raw = raw_open(url.path, 0) else { throw BenchmarkError("\(url.path) could not be opened") }
        defer { raw_close(raw) }
        return try Cost.of { try check(raw_load(raw, settings.rows, 1_000, keyed ? 1 : 0)) }
    }
}

/// A first sync of a device that has imported the records of the server: each row that arrives has a pending create.
///
/// The basis is the first sync of a device without them.
struct ImportedSyncBenchmark {
    let settings: BenchmarkSettings

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() throws -> [Figure] {
        let rows = settings.rows
        var round = 0
        func sync(imported: Int64) throws -> Cost {
            round += 1
            let server = try BenchmarkServer(folder: try settings.subfolder("server-imported-\(round)"), rows: rows)
            defer { server.stop() }
            return try BenchmarkDevice.sync(
                in: try settings.subfolder("imported-\(round)"), with: server, expecting: rows, imported: imported
            ).cost
        }
        return [
            try Comparison(
                row: .importedSync,
                name: "first sync of a device that imported the same users, beside one without them",
                size: settings.users, units: Int(rows), unit: "rows",
                basis: { try sync(imported: 0) }, ours: { try sync(imported: rows) }
            ).run(rounds: settings.rounds)
        ]
    }
}
