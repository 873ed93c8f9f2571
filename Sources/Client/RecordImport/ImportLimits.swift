/// The limits of an import, each of which bounds memory.
public enum ImportLimits {
    /// Bytes of one input. It is held in memory as a whole, because `--strict` checks all of it before anything is
    /// written.
    public static let inputBytes = 256 * 1_024 * 1_024
    /// Bytes of one line, or of one CSV row that spans several lines.
    public static let rowBytes = 1_024 * 1_024
    /// Largest number of transactions that hold a single row, in an import whose rows must stand alone. Above it,
    /// several rows share a transaction. It is far below the capacity of an outbox, and each transaction is flushed to
    /// disk.
    public static let transactions = 2_000
    /// Number of newest journal entries that are searched for rejected imports.
    public static let journalEntries = 1_000
    /// Mutations of one local transaction, well below what a server accepts.
    public static let mutationsPerTransaction = 500
    /// Bytes of one local transaction: a quarter of what the model allows.
    public static let bytesPerTransaction = 256 * 1_024
    /// Number of broken rows that are kept to be shown. All of them are counted.
    public static let shownProblems = 1_000
}
