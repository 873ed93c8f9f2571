/// A bounded ring buffer of text lines in the local database, which stores the turns of the flight recorder.
///
/// The store does not interpret the lines. It gives the same guarantees as `LocalStore`: each call is synchronous and
/// is one transaction.
public protocol RecordingStore: Sendable {
    /// Appends parts in order, and then deletes whole segments, oldest first, until the limits hold again. The newest
    /// segment stays even when it alone exceeds them.
    ///
    /// A turn without a start before it is dropped. This happens after the ring was emptied.
    ///
    /// - Throws: `busy` at once, without waiting, when another process is writing.
    func append(_ parts: [RecordingPart], keeping limits: RecordingLimits) throws(StoreError)

    /// Returns the whole ring, oldest segment first.
    func recording() throws(StoreError) -> [RecordingSegment]

    /// Returns the counts of the ring, without its lines.
    func recordingSummary() throws(StoreError) -> RecordingSummary

    /// Empties the ring.
    func clearRecording() throws(StoreError)
}

/// One line of the ring.
public enum RecordingPart: Hashable, Sendable {
    /// Begins a segment, which can be understood without the lines before it.
    case start(String)
    /// A line about one turn, which belongs to the last start before it.
    case turn(String)

    package var line: String {
        switch self {
        case .start(let line), .turn(let line): line
        }
    }
}

/// A start and the turns that follow it.
public struct RecordingSegment: Hashable, Sendable {
    /// The line that begins the segment.
    public let start: String
    /// The lines of the turns, oldest first.
    public let turns: [String]

    /// Creates a segment as a store has read it.
    public init(start: String, turns: [String]) {
        self.start = start
        self.turns = turns
    }
}

/// The limits of a ring.
public struct RecordingLimits: Hashable, Sendable {
    /// Maximum number of turns in all segments.
    public var turns: Int
    /// Maximum size of all lines in bytes, including starts.
    public var bytes: Int

    /// Creates limits. The newest segment may exceed them.
    public init(turns: Int, bytes: Int) {
        self.turns = turns
        self.bytes = bytes
    }
}

/// Counts of a ring.
public struct RecordingSummary: Hashable, Sendable {
    /// Number of starts.
    public var segments: Int
    /// Number of turns in all segments.
    public var turns: Int
    /// Size of all lines in bytes, including starts.
    public var bytes: Int

    /// Creates counts, by default those of an empty ring.
    public init(segments: Int = 0, turns: Int = 0, bytes: Int = 0) {
        self.segments = segments
        self.turns = turns
        self.bytes = bytes
    }
}
