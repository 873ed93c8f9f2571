/// The limits of the simulation itself. Each one turns a hang or a flood of memory into a named failure.
public enum SimulationLimits {
    /// Jobs run without virtual time moving, before the run is called a livelock. An honest settle of many devices takes
    /// some thousands.
    public static let jobsPerInstant = 1_000_000
    /// The lines of the trace that a failure prints: enough to see what led to it.
    public static let printedTraceLines = 60
    /// The sleepers whose deadlines a failure prints.
    public static let printedSleepers = 16
}
