import Logging
import ServiceLifecycle
import UnixSignals

/// Runs a function that SIGINT and SIGTERM cancel, so that it can clean up.
public enum ProgramSignals {
    /// Runs `body` to its end, and cancels it at the first SIGINT or SIGTERM.
    ///
    /// - Throws: the error of `body`.
    public static func cancelling(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: BodyService(body: body), successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ],
                cancellationSignals: [.sigint, .sigterm],
                logger: Logger(label: "program") { _ in SwiftLogNoOpLogHandler() }))
        try await group.run()
    }
}

private struct BodyService: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws {
        try await body()
    }
}
