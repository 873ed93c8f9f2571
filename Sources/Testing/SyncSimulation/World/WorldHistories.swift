import SyncAuthority
import SyncConcurrency
import SyncModel

/// A keeper that names the histories of a world's server, and checks each history that the server declares lost.
final class WorldHistories: HistoryKeeper {
    private let simulation: Simulation
    private let history: History
    private let violations: ViolationLog
    private let random: Guarded<SeededRandom>
    /// Whether the server was restored without being told.
    private let isRestoredSilently = Guarded(false)

    init(simulation: Simulation, history: History, violations: ViolationLog) {
        self.simulation = simulation
        self.history = history
        self.violations = violations
        random = Guarded(simulation.random("histories"))
    }

    /// The placeholder for the server's epoch while it is unknown whether a device will prove a silent restore.
    static let inDoubt = Epoch(rawValue: "in-doubt")

    /// Records that the server was restored from a copy.
    func serverWasRestored(isAnnounced: Bool) {
        isRestoredSilently.withLock { $0 = !isAnnounced }
    }

    func nextHistory() -> HistoryIdentity {
        random.withLock { HistoryIdentity.drawn(from: &$0) }
    }

    func historyWasLost(_ lost: LostHistory, next: Epoch) {
        let isExpected = isRestoredSilently.withLock { flag in
            defer { flag = false }
            return flag
        }
        if !isExpected {
            violations.report(
                Violation(.I15, "the server began history \(next), although it was not restored: \(lost)"))
        }
        history.epoch = next
        simulation.note("begins history \(next): \(lost)", by: "server")
    }
}
