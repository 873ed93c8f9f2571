import CRawSQLite
import Foundation

/// Measures a first sync and a delta over loopback HTTP, with the server and the device in separate processes.
struct SyncBenchmarks {
    let folder: URL

    struct Outcome {
        let cpuSeconds: Double
        let wallSeconds: Double
        let peakBytes: Double
    }

    /// Measures a first sync of `rows` users against the C program, which writes them into a file.
    func firstSync(of rows: Int64, rounds: Int) throws -> (row: Row, peakBytes: Double) {
        let server = try BenchmarkServer(folder: try subfolder("server-\(rows)"), rows: rows)
        defer { server.stop() }
        var peaks: [Double] = []
        var round = 0
        let row = try Comparison(
            name: "first sync of \(rows) users over loopback HTTP", units: Int(rows), unit: "rows",
            floor: {
                round += 1
                let path = folder.appending(path: "floor-\(rows)-\(round).db").path
                guard let raw = raw_open(path, 0) else { throw BenchmarkError("\(path) could not be opened") }
                defer { raw_close(raw) }
                return try Cost.of {
                    guard raw_load(raw, 0, rows, 1_000) == 0 else { throw BenchmarkError("the raw load failed") }
                }
            },
            ours: {
                let outcome = try server.sync(device: try subfolder("device-\(rows)-\(round)"), expecting: rows)
                peaks.append(outcome.peakBytes)
                return Cost(cpuSeconds: outcome.cpuSeconds, wallSeconds: outcome.wallSeconds)
            }
        ).run(rounds: rounds)
        return (row, peaks.median)
    }

    /// Returns the cost of a delta of `changes` out of `rows` users: the median CPU seconds on the device.
    func delta(of changes: Int64, in rows: Int64, rounds: Int) throws -> Double {
        let server = try BenchmarkServer(folder: try subfolder("delta-server-\(rows)"), rows: rows)
        defer { server.stop() }
        let device = try subfolder("delta-device-\(rows)")
        _ = try server.sync(device: device, expecting: rows)
        var costs: [Double] = []
        for _ in 0..<rounds {
            try server.change(changes, stride: rows / changes)
            costs.append(try server.sync(device: device, expecting: rows).cpuSeconds)
        }
        return costs.median
    }

    private func subfolder(_ name: String) throws -> URL {
        let url = folder.appending(path: name)
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return url
    }
}

/// The benchmark's server process, controlled through its standard input.
private final class BenchmarkServer {
    private let process = Process()
    private let commands = Pipe()
    private let answers = Pipe()
    private var buffered = Data()
    private var port = 0
    private var number: Int64

    init(folder: URL, rows: Int64) throws {
        process.executableURL = URL(filePath: CommandLine.arguments[0])
        process.arguments = ["server", "--folder", folder.path, "--rows", "\(rows)"]
        process.standardInput = commands
        process.standardOutput = answers
        number = (rows + 999) / 1_000
        try process.run()
        let line = try readLine()
        guard line.hasPrefix("port "), let port = Int(line.dropFirst(5)) else {
            throw BenchmarkError("the server said: \(line)")
        }
        self.port = port
    }

    func change(_ count: Int64, stride: Int64) throws {
        commands.fileHandleForWriting.write(Data("change \(count) \(stride) \(number) \(number)\n".utf8))
        number += 1
        let answer = try readLine()
        guard answer == "done" else { throw BenchmarkError("the server said: \(answer)") }
    }

    /// Runs a device process that syncs once.
    func sync(device folder: URL, expecting rows: Int64) throws -> SyncBenchmarks.Outcome {
        let device = Process()
        let output = Pipe()
        device.executableURL = URL(filePath: CommandLine.arguments[0])
        device.arguments = ["device", "--folder", folder.path, "--port", "\(port)"]
        device.standardOutput = output
        try device.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        device.waitUntilExit()
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        guard numbers.count == 4, Int64(numbers[3]) == rows else {
            throw BenchmarkError("expected \(rows) rows, the device said: \(text)")
        }
        return SyncBenchmarks.Outcome(cpuSeconds: numbers[0], wallSeconds: numbers[1], peakBytes: numbers[2])
    }

    /// Closes the server's input, which ends it, and waits for its end.
    func stop() {
        try? commands.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    private func readLine() throws -> String {
        while true {
            if let end = buffered.firstIndex(of: UInt8(ascii: "\n")) {
                defer { buffered = Data(buffered[buffered.index(after: end)...]) }
                return String(decoding: buffered[..<end], as: UTF8.self)
            }
            let more = answers.fileHandleForReading.availableData
            guard !more.isEmpty else { throw BenchmarkError("the server ended") }
            buffered += more
        }
    }
}
