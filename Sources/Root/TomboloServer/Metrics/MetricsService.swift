import CoreMetrics
import Logging
import ServiceLifecycle
import SyncProgram
import SyncServerHTTP

/// Serves the metrics of a server and its process, at the address of `metrics.host` and `metrics.port`.
struct MetricsService: Service {
    let address: ServerSettings.Metrics
    let registry: PrometheusRegistry
    let logger: Logger
    /// Called once with the port on which the service listens.
    let listening: @Sendable (_ port: Int) async -> Void

    /// - Throws: `ConfigurationError` for an address on which it cannot listen.
    func run() async throws {
        do {
            try await MetricsServer(
                host: address.host, port: address.port, registry: registry, logger: logger, onRunning: listening
            ).run()
        } catch let error as SyncServerConfigurationError {
            throw ConfigurationError(
                error.description, advice: "see the metrics keys: metrics.host, metrics.port", mayPass: error.mayPass)
        }
    }
}

extension PrometheusRegistry {
    /// Creates the registry of a server.
    ///
    /// - Parameter folder: the folder of the server's files, whose free disk space is reported.
    static func ofServer(folder: String) -> PrometheusRegistry {
        let registry = PrometheusRegistry()
        registry.describe("tombolo_info", .gauge, "1, with the version of this program as a label.")
        registry.makeMeter(label: "tombolo_info", dimensions: [("version", ProgramVersion.text)]).set(Int64(1))
        registry.read(
            "tombolo_disk_free_bytes", .gauge, "Bytes that the server may still write to the disk of its folder."
        ) { DiskSpace.freeBytes(in: folder) }
        ProcessMetrics.add(to: registry)
        return registry
    }
}
