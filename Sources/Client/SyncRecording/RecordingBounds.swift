/// The limits of what is recorded, and of what is accepted from a file.
package enum RecordingBounds {
    /// Maximum bytes of one ring, whatever its number of turns: a few thousand turns, little compared with the records.
    package static let ringBytes = 4 * 1_024 * 1_024
    /// Number of segments in a ring. The ring is trimmed by whole segments, each with its own start, so that at least
    /// three quarters of it always remain.
    static let segments = 4
    /// Lines that wait in memory. At this number, or at `unsavedBytes`, they are saved at once.
    static let unsavedLines = 64
    static let unsavedBytes = 256 * 1_024
    /// Lines that wait while another program holds the database. At this number, or at `heldBytes`, all of them are
    /// dropped, and a new segment begins.
    static let heldLines = 1_024
    static let heldBytes = 1_024 * 1_024

    /// Maximum bytes of a recording file: the ring, its header, and its closing line.
    package static let fileBytes = 64 * 1_024 * 1_024
    /// Maximum bytes of one line. A push of the largest batch takes a tenth of them.
    static let lineBytes = 1_024 * 1_024
    /// Maximum bytes of a name that a server chooses.
    static let nameBytes = 4_096
    /// Maximum number of transactions in one event, and of elements in any list.
    static let transactions = 100_000
    /// Largest whole number, count, or serial: JSON represents it exactly everywhere, and sums of such numbers do not
    /// overflow.
    static let largestNumber: Int64 = 1 << 53
    /// Longest duration in seconds: a machine that has been up for thirty years.
    static let longestDuration: Int64 = 1_000_000_000
}
