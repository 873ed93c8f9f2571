/// A position in a recording. The numbers grow in recording order, even at the same virtual time.
public struct RecordedMoment: Hashable, Sendable {
    public let number: Int
    /// The virtual time since the simulation began.
    public let time: Duration
}

/// An event at one party.
public struct RecordedEvent: Hashable, Sendable {
    public let moment: RecordedMoment
    /// The name of a device, "server", or "world".
    public let party: String
    public let kind: EventKind
    public let text: String
    /// Text that is too long for a line; empty when there is none.
    public let detail: String
    /// The message that the server was handling at the time; nil when there was none.
    public let message: RecordedMessage.ID?
}

/// The state of the world at the end of a step.
public struct RecordedStep: Hashable, Sendable {
    /// The name of the step, such as "step 12" or "coming to rest".
    public let name: String
    public let moment: RecordedMoment
    /// The contents of each party, by name.
    public let holdings: [String: Holdings]
}
