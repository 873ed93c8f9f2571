/// The limits of an import. Each bounds memory.
public enum ImportLimits {
    /// The bytes of one input: it is held whole, because `--strict` looks at all of it before anything is written.
    public static let inputBytes = 256 * 1_024 * 1_024
    /// The bytes of one line, or of one row of CSV over several lines.
    public static let rowBytes = 1_024 * 1_024
    /// The transactions of an import that hold one row each, where rows have to stand alone; rows beyond share them. Far
    /// below what an outbox holds, and each is flushed to the disk.
    public static let transactions = 2_000
    /// The newest entries of the journal that are searched for refused imports.
    public static let journalEntries = 1_000
    /// The mutations of one local transaction, well below what a server takes.
    public static let mutationsPerTransaction = 500
    /// The bytes of one local transaction: a quarter of what the model allows.
    public static let bytesPerTransaction = 256 * 1_024
    /// How many broken rows are kept to be shown; all are counted.
    public static let shownProblems = 1_000
}
