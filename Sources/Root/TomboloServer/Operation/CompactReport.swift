import SyncProgram

/// The sizes of a database before and after it was compacted, in bytes, including what is in its WAL.
struct CompactReport {
    let file: String
    let before: Int64
    let after: Int64
    /// Whether a server runs, which has yet to copy the WAL into the file.
    let isServed: Bool

    /// The line for people.
    var line: TerminalText {
        let time = isServed ? "after the next commit of its server" : "now"
        return "\(file) was compacted: \(SizeText.text(before)) before, \(SizeText.text(after)) \(time)\n"
    }
}
