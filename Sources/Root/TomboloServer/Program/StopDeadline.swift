import Glibc
import SyncCore
import SyncProgram

/// Ends the process if its graceful stop does not end.
///
/// A call of a database that does not respond blocks its thread and cannot be cancelled. Ending the process loses
/// nothing: each transaction is committed or rolled back, and a client repeats a push without a response.
enum StopDeadline {
    /// Ends the process with status 1 if it still runs when the deadline and `ProgramSignals.grace` are over.
    static func set(_ deadline: Duration, _ runtime: EngineRuntime) {
        let limit = deadline + ProgramSignals.grace
        _ = runtime.spawn {
            guard (try? await runtime.clock.sleep(for: limit)) != nil else { return }
            ProgramOutput.note(
                "\(ServerOptions.program.name): stopped after \(limit.components.seconds) seconds, before all calls of the database had ended: it may not be responding\n"
            )
            _exit(1)
        }
    }
}
