/// The reason why a simulation failed: a fault in the simulated program, or in the way it uses the simulation.
public struct SimulationError: Error, Sendable {
    public let kind: Kind
    public let seed: UInt64
    public let policy: SchedulingPolicy
    /// The virtual time since the simulation began.
    public let time: Duration
    /// The names of the tasks that were started and have not ended.
    public let unfinished: [String]
    /// The first sleeping tasks and their deadlines.
    public let sleepers: [String]
    public let lastLines: [SimulationTrace.Line]

    public enum Kind: Hashable, Sendable {
        /// No job is ready and no sleeper can wake, but not everything has ended. The sleepers of a suspended device
        /// cannot wake once their deadlines have passed.
        case deadlock
        /// Very many jobs have run without advancing time.
        case livelock
        /// Work has left the simulation: jobs came from another thread, or went to Swift's global pool. Look for
        /// `Task {}`, `Task.detached`, `Task.sleep`, a main actor, or an API with its own queue.
        case leak(foreign: Int, escaped: Int)
        /// The run needs more virtual time than its limit.
        case tooLong(Duration)
        /// Tasks have not ended although they were cancelled.
        case unfinished
        /// Something still sleeps although every task has ended.
        case sleepersLeft
    }
}

extension SimulationError: CustomStringConvertible {
    public var description: String {
        var text = "\(headline) (seed \(seed), \(policy.rawValue), at \(time))"
        if !unfinished.isEmpty { text += "\nnot ended: \(unfinished.joined(separator: ", "))" }
        if !sleepers.isEmpty { text += "\nasleep: \(sleepers.joined(separator: ", "))" }
        if !lastLines.isEmpty { text += "\nlast events:\n" + lastLines.map { "  \($0)" }.joined(separator: "\n") }
        return text
    }

    private var headline: String {
        switch kind {
        case .deadlock: "deadlock: nothing is ready and nothing sleeps"
        case .livelock: "livelock: more than \(SimulationLimits.jobsPerInstant) jobs without time moving"
        case .leak(let foreign, let escaped):
            "leak: \(foreign) jobs came from another thread, \(escaped) went to the global pool"
        case .tooLong(let limit):
            "too long: not done after \(limit) of virtual time. Waits by the system's clock do not advance it: use the runtime's clock"
        case .unfinished: "unfinished: tasks have not ended although they were cancelled"
        case .sleepersLeft: "sleepers left: something sleeps although every task has ended"
        }
    }
}
