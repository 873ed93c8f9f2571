import Logging
import SyncAuthority
import SyncCore
import SyncModel

/// Generates the names and keys of histories from the machine's random source, and logs the loss of a history for the
/// operator.
struct LiveHistories: HistoryKeeper {
    let runtime: EngineRuntime
    let logger: Logger

    func nextHistory() -> HistoryIdentity {
        var random = runtime.generator
        return .drawn(from: &random)
    }

    func historyWasLost(_ lost: LostHistory, next: Epoch) {
        logger.critical(
            """
            The database was restored from an older copy: \(lost). A new history has begun. Devices send unconfirmed \
            changes again. Each device keeps, in its journal, the values that this server has lost. Check that this is the \
            copy that you meant to serve.
            """,
            metadata: [
                "lost_epoch": "\(lost.epoch)", "new_epoch": "\(next)", "space": "\(lost.space)",
                "reached": "\(lost.reached)", "head": "\(lost.head)",
            ])
    }
}
