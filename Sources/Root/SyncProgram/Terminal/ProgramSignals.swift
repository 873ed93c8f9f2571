import Dispatch
import Glibc
import Logging
import ServiceLifecycle
import SyncConcurrency
import SyncModel
import UnixSignals

/// The reactions of a program to signals.
public enum ProgramSignals {
    /// Makes a write return an error where the system would end the process without a message: when the reader of a
    /// pipe has gone (SIGPIPE), or when a file would exceed the limit on its size (SIGXFSZ).
    public static func ignoreWriteSignals() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// The time after the deadline of a graceful stop in which a program closes what it has open.
    package static let grace = Duration.seconds(10)

    /// Ends the process at the second SIGINT or SIGTERM, and if it still runs when the deadline of its graceful stop
    /// and `grace` are over.
    ///
    /// A command that stops gracefully cannot stop while it writes to a pipe that nobody reads. Its work is durable at
    /// any moment, so ending it loses nothing.
    public static func endProcess(afterDeadline deadline: Duration) {
        let queue = DispatchQueue(label: "signals", qos: .userInitiated)
        let isStopping = Guarded(false)
        for number in [SIGINT, SIGTERM] {
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                let isSecond = isStopping.withLock { isStopping in
                    defer { isStopping = true }
                    return isStopping
                }
                if isSecond { _exit(128 + number) }
                let wait = DispatchTimeInterval.milliseconds(Int(clamping: (deadline + grace).wholeMilliseconds))
                queue.asyncAfter(deadline: .now() + wait) { _exit(128 + number) }
            }
            source.activate()
            // The source must live as long as the process.
            _ = Unmanaged.passRetained(source as AnyObject)
        }
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
