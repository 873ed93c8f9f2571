import SyncConcurrency

/// A counter of the faults in one world.
final class FaultTally: Sendable {
    private let state = Guarded(FaultCoverage())

    var coverage: FaultCoverage { state.withLock { $0 } }

    func count(_ fault: FaultKind, _ phases: some Sequence<OperationPhase>) {
        state.withLock { coverage in
            for phase in phases { coverage.count(fault, phase) }
        }
    }

    /// Runs `body` and counts the disk faults that it meets.
    func watch<Result, Failure>(
        _ phase: OperationPhase, on disk: SimulatedDisk, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let before = disk.faultCount
        defer { if disk.faultCount != before { note(phase, on: disk) } }
        return try body()
    }

    /// Counts the disk's faults since the last call.
    private func note(_ phase: OperationPhase, on disk: SimulatedDisk) {
        let faults = disk.takeFaults()
        state.withLock { coverage in
            for (fault, times) in faults { coverage.count(fault, phase, times: times) }
        }
    }
}
