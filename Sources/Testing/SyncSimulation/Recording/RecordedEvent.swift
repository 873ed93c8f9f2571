/// A place in a recording. Numbers grow in the order in which things were recorded, also within one moment.
public struct RecordedMoment: Hashable, Sendable {
    public let number: Int
    /// Virtual, since the simulation began.
    public let time: Duration
}

/// Something that happened at one party.
public struct RecordedEvent: Hashable, Sendable {
    public let moment: RecordedMoment
    /// A device, the server, or the world.
    public let party: String
    public let kind: EventKind
    public let text: String
    /// More than a line has room for; empty when there is no more.
    public let detail: String
    /// The message over which it happened, when there was one.
    public let message: RecordedMessage.ID?
}

/// The state of the world at the end of a step.
public struct RecordedStep: Hashable, Sendable {
    /// "step 12", "at rest, second 3".
    public let name: String
    public let moment: RecordedMoment
    /// By party; shared with the step before where nothing has changed.
    public let holdings: [String: Holdings]
}
