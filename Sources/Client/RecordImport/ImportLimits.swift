/// The limits of an import, which bound its memory and its time.
package enum ImportLimits {
    /// Maximum bytes of one input. The whole input is held in memory, because `--strict` checks all of it before
    /// anything is written.
    package static let inputBytes = 256 * 1_024 * 1_024
    /// Maximum number of lines of one input. A short row takes more than a kilobyte of memory until it is written.
    package static let inputLines = 500_000
    /// Maximum bytes of one line, or of one CSV row that spans several lines.
    package static let rowBytes = 1_024 * 1_024
    /// Maximum number of transactions for the edits that the server may reject, which have a transaction each. If there
    /// are more such edits, several share a transaction. The limit is far below the capacity of an outbox, and each
    /// transaction is flushed to disk.
    package static let transactions = 2_000
    /// Maximum number of journal entries that are searched for rejected imports, newest first.
    package static let journalEntries = 1_000
    /// Maximum number of mutations of one local transaction, well below what a server accepts.
    package static let mutationsPerTransaction = 500
    /// Maximum bytes of one local transaction: a quarter of what the model allows.
    package static let bytesPerTransaction = 256 * 1_024
    /// Maximum number of broken rows that are kept to be shown. All broken rows are counted.
    package static let shownProblems = 1_000
}
