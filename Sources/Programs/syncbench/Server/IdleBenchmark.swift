import Foundation

/// The resources that a connected device and its server use while nothing happens.
struct IdleBenchmark {
    let settings: BenchmarkSettings

    init(_ settings: BenchmarkSettings) {
        self.settings = settings
    }

    func figures() async throws -> [Figure] {
        let server = try BenchmarkServer(folder: try settings.subfolder("server-idle"), rows: 1_000)
        defer { server.stop() }
        let device = try BenchmarkDevice(
            in: try settings.subfolder("idle"), with: server, expecting: 1_000, idleSeconds: settings.idleSeconds)
        try await Task.sleep(for: BenchmarkDevice.settling)
        let before = try server.use()
        try await Task.sleep(for: .seconds(settings.idleSeconds))
        let after = try server.use()
        let time = "\(settings.idleSeconds) s"
        return figures(of: "an idle device", try device.finish(), time)
            + figures(of: "an idle server with one device", after - before, time)
    }

    private func figures(of name: String, _ use: ProcessUse, _ time: String) -> [Figure] {
        func figure(_ what: String, _ unit: String, _ value: Double) -> Figure {
            Figure(row: .idle, name: "\(what) of \(name)", size: time, unit: unit, ours: value)
        }
        return [
            figure("CPU time", "ms of CPU", use.cpuSeconds * 1_000),
            figure("wake-ups", "waits", use.wakeUps),
            figure("bytes written to disks", "bytes", use.writtenBytes),
        ]
    }
}
