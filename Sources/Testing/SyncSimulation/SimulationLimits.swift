/// The limits of the simulation itself. Each one turns a hang or a flood of memory into a named failure.
public enum SimulationLimits {
    /// Jobs run without virtual time moving, before the run is called a livelock. An honest settle of many devices takes
    /// some thousands.
    public static let jobsPerInstant = 1_000_000
    /// The lines of the trace that a failure prints: enough to see what led to it.
    public static let printedTraceLines = 60
    /// The sleepers whose deadlines a failure prints.
    public static let printedSleepers = 16
    /// Of a recording, the last so many events are kept: a world of 500 steps has about 20,000.
    public static let recordedEvents = 400_000
    /// Of a recording, the last so many messages are kept: a world of 500 steps sends some thousands.
    public static let recordedMessages = 200_000
    /// Of a recording, the last so many steps are kept, each with what every party holds.
    public static let recordedSteps = 10_000
    /// A text in a recording is cut behind so many bytes: a push of many large records is not the point of a diagram.
    public static let recordedTextBytes = 8_192
    /// How much longer an engine may take to stop on a slow processor, where timers are late.
    public static let stopTolerance = Duration.seconds(60)
    /// A device that is suspended for longer sleeps for days.
    public static let day = Duration.seconds(86_400)
    /// The entries of an outbox that are read at once, where it is not needed whole.
    public static let outboxPart = 16
    /// For each so many entries in its outbox, a device is not looked at for one step.
    public static let outboxEntriesPerLook = 24
    /// The entries of an outbox that a recording lists at each step; it counts the others.
    public static let recordedOutboxEntries = 100
}
