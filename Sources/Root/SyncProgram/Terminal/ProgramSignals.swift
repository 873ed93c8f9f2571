import Glibc
import Logging
import ServiceLifecycle
import UnixSignals

/// The reactions of a program to signals.
public enum ProgramSignals {
    /// Makes a write return an error where the system would end the process without a message: when the reader of a pipe
    /// has gone (SIGPIPE), or when a file would exceed the limit on its size (SIGXFSZ).
    public static func ignoreWriteSignals() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

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
