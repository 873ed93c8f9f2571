import BenchmarkUsers
import Foundation

/// A device process, which syncs with a server once and stays connected for a while.
struct BenchmarkDevice {
    private let process: ChildProcess
    let cost: Cost
    let peakBytes: Double

    /// The time after a sync in which connections and files settle, before the idle time begins.
    static let settling = Duration.seconds(2)

    /// Starts a device process, and waits for the end of its sync.
    ///
    /// - Parameters:
    ///   - rows: the number of users that the device must have in the end.
    ///   - imported: the number of users that the device creates before the sync.
    ///   - idleSeconds: how long the device stays connected after the sync.
    init(
        in folder: URL, with server: BenchmarkServer, expecting rows: Int64, imported: Int64 = 0, idleSeconds: Int = 0
    ) throws {
        process = try ChildProcess([
            "device", "--folder", folder.path, "--port", "\(server.port)", "--imported", "\(imported)",
            "--idle-seconds", "\(idleSeconds)",
        ])
        let line = try process.readLine()
        let numbers = line.split(separator: " ").compactMap { Double($0) }
        guard numbers.count == 4, Int64(numbers[3]) == rows else {
            throw BenchmarkError("expected \(rows) rows, the device said: \(line)")
        }
        cost = Cost(cpuSeconds: numbers[0], wallSeconds: numbers[1])
        peakBytes = numbers[2]
    }

    /// Waits for the end of the device, and returns what it has used in its idle time.
    func finish() throws -> ProcessUse {
        let line = try process.readLine()
        process.stop()
        guard let use = ProcessUse(line: line) else { throw BenchmarkError("the device said: \(line)") }
        return use
    }

    /// Syncs once, and returns the cost and the peak memory.
    static func sync(
        in folder: URL, with server: BenchmarkServer, expecting rows: Int64, imported: Int64 = 0
    ) throws -> (cost: Cost, peakBytes: Double) {
        let device = try BenchmarkDevice(in: folder, with: server, expecting: rows, imported: imported)
        _ = try device.finish()
        return (device.cost, device.peakBytes)
    }
}
