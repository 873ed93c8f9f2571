/// The limits of recordings: of what is kept, and of what is believed of a file.
package enum RecordingBounds {
    /// The bytes of one ring, whatever its number of turns: a few thousand turns, and nothing beside the records.
    package static let ringBytes = 4 * 1_024 * 1_024
    /// A ring is cut into this many segments, each with a start of its own: what the ring loses is lost by segments,
    /// so that at least three quarters of it always remain.
    static let segments = 4
    /// Lines that wait in memory before they are saved at once.
    static let unsavedLines = 64
    static let unsavedBytes = 256 * 1_024
    /// Lines that wait while another program holds the database; beyond them all are dropped, and a new segment
    /// begins.
    static let heldLines = 1_024
    static let heldBytes = 1_024 * 1_024

    /// A file of a recording: the ring with its frame.
    package static let fileBytes = 64 * 1_024 * 1_024
    /// One line: a push of the largest batch takes a tenth of it.
    static let lineBytes = 1_024 * 1_024
    /// Names that a server makes.
    static let nameBytes = 4_096
    /// Transactions of one event.
    static let transactions = 100_000
    /// Whole numbers, counts and serials: what JSON holds exactly everywhere, and no sum of which overflows.
    static let largestNumber: Int64 = 1 << 53
    /// Durations: a machine that has been up for thirty years.
    static let longestDuration: Int64 = 1_000_000_000
}
