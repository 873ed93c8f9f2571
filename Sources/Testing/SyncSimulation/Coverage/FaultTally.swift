import SyncConcurrency

/// Counts the faults of one world.
final class FaultTally: Sendable {
    private let state = Guarded(FaultCoverage())

    var coverage: FaultCoverage { state.withLock { $0 } }

    func count(_ fault: FaultKind, _ phases: some Sequence<OperationPhase>) {
        state.withLock { coverage in
            for phase in phases { coverage.count(fault, phase) }
        }
    }

    /// Counts what the disk does to `body`.
    func watch<Result, Failure>(
        _ phase: OperationPhase, on disk: SimulatedDisk, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let before = disk.faultCount
        defer { if disk.faultCount != before { note(phase, on: disk) } }
        return try body()
    }

    /// Counts what the disk has done since it was last asked.
    private func note(_ phase: OperationPhase, on disk: SimulatedDisk) {
        let faults = disk.takeFaults()
        state.withLock { coverage in
            for (fault, times) in faults { coverage.count(fault, phase, times: times) }
        }
    }
}
