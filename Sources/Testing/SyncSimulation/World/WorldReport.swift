/// The counts of a run of a world.
public struct WorldReport: Hashable, Sendable {
    public let seed: UInt64
    /// Operations of users that were done.
    public var operations = 0
    /// Operations that the local store refused, by the code of the refusal.
    public var refusals: [String: Int] = [:]
    /// The faults that happened, and what was going on then.
    public var coverage = FaultCoverage()
    /// Commits of the server.
    public var commits = 0
    /// Commits of devices that a loss of power took, where commits are not flushed one by one.
    public var lostCommits = 0
    /// How much virtual time the world took to come to rest once it was healed.
    public var timeToRest = Duration.zero
    /// The whole run in virtual time.
    public var duration = Duration.zero
    public var jobs = 0
    public var diskOperations = 0
    /// Over everything in the trace, and all operations of all disks.
    public var hash: UInt64 = 0
}

/// A run that found something broken.
public struct WorldFailure: Error, CustomStringConvertible {
    public let script: WorldScript
    /// The number of steps when it was found.
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
