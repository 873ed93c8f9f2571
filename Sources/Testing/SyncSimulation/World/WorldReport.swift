/// The statistics of a world's run.
public struct WorldReport: Hashable, Sendable {
    public let seed: UInt64
    /// The number of user operations that succeeded.
    public var operations = 0
    /// The number of operations that the local store refused or failed to carry out, by error code.
    public var refusals: [String: Int] = [:]
    /// The faults that happened, and the operations in progress at the time.
    public var coverage = FaultCoverage()
    /// The number of commits on the server at the end, in all spaces.
    public var commits = 0
    /// The number of device commits lost to power failures, on devices that do not flush each commit.
    public var lostCommits = 0
    /// The virtual time from the end of all faults until the world came to rest.
    public var timeToRest = Duration.zero
    /// The virtual time of the whole run.
    public var duration = Duration.zero
    public var jobs = 0
    public var diskOperations = 0
    /// A hash of the whole trace and of all operations of all disks.
    public var hash: UInt64 = 0
}

/// The failure of a run.
public struct WorldError: Error, CustomStringConvertible {
    public let script: WorldScript
    /// The number of the step in which the failure was found.
    public let step: Int
    public let cause: any Error
    public let lastLines: [SimulationTrace.Line]

    public init(script: WorldScript, step: Int, cause: any Error, lastLines: [SimulationTrace.Line]) {
        self.script = script
        self.step = step
        self.cause = cause
        self.lastLines = lastLines
    }

    public var description: String {
        """
        \(cause)
        seed \(script.setting.seed), step \(step) of \(script.moments.count), \(script.setting.devices) devices
        last events:
        \(lastLines.map { "  \($0)" }.joined(separator: "\n"))
        """
    }
}
