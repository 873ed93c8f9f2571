/// A bounded ring of lines beside the records: where a flight recorder keeps what it has seen.
///
/// The store knows nothing of what the lines say. Same promises as `LocalStore`: synchronous, one transaction a call.
public protocol RecordingStore: Sendable {
    /// Appends parts in their order; the oldest segments go, whole, until the limits hold again. The newest segment
    /// stays even when it alone exceeds them.
    ///
    /// Turns that follow no start, because the ring was emptied meanwhile, are left out.
    /// - Throws: `busy` at once, without waiting, when another process is writing.
    func append(_ parts: [RecordingPart], keeping limits: RecordingLimits) throws(StoreFailure)

    /// Everything in the ring, the oldest segment first.
    func recording() throws(StoreFailure) -> [RecordingSegment]

    func recordingSummary() throws(StoreFailure) -> RecordingSummary

    /// Empties the ring.
    func clearRecording() throws(StoreFailure)
}

/// A line for the ring.
public enum RecordingPart: Hashable, Sendable {
    /// Begins a segment: what follows can be understood without what was before.
    case start(String)
    case turn(String)

    package var line: String {
        switch self {
        case .start(let line), .turn(let line): line
        }
    }
}

/// A start with the turns that follow it.
public struct RecordingSegment: Hashable, Sendable {
    public let start: String
    public let turns: [String]

    public init(start: String, turns: [String]) {
        self.start = start
        self.turns = turns
    }
}

/// How much a ring may hold.
public struct RecordingLimits: Hashable, Sendable {
    public var turns: Int
    /// Of all lines together, starts too.
    public var bytes: Int

    public init(turns: Int, bytes: Int) {
        self.turns = turns
        self.bytes = bytes
    }
}

/// Counts of a ring.
public struct RecordingSummary: Hashable, Sendable {
    public var segments: Int
    public var turns: Int
    public var bytes: Int

    public init(segments: Int = 0, turns: Int = 0, bytes: Int = 0) {
        self.segments = segments
        self.turns = turns
        self.bytes = bytes
    }
}
