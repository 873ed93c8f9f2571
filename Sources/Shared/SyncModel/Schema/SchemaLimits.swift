/// The limits of the model, the same on every client and server. Each of them bounds memory.
public enum SchemaLimits {
    /// Default of the maximum length of text or JSON in one field, in UTF-8 bytes, and the largest that a `Model` may
    /// declare. A page of rows must fit into memory many times over.
    public static let textBytes = 64 * 1_024
    /// Maximum nesting depth of arrays and objects in a JSON field. Inside the deepest message, the value stays within
    /// the depth that every reader of JSON accepts.
    public static let jsonDepth = 32
    /// Maximum number of fields in one collection. Their versions are stored in one small blob beside the row.
    public static let fields = 64
    /// Maximum number of mutations in one transaction. A commit is never split across two pages.
    public static let mutationsPerTransaction = 1_000
    /// Maximum size of one transaction's values, in bytes. The transaction and its envelope must fit into one request.
    public static let transactionBytes = 1_024 * 1_024
    /// The time that a stamp may be in the future before it is clamped. It exceeds the difference between correct
    /// clocks.
    public static let permittedSkew = Duration.seconds(60)
    /// Maximum number of cursors in one push. Each costs the server a lookup under its write lock.
    public static let shownCursors = 64
    /// Maximum number of former numbers that a device sends with one transaction. Each costs the server a lookup under
    /// its write lock.
    ///
    /// A device that has more first asks for the outcome under the oldest numbers, with an empty transaction.
    public static let formerNumbers = 16
    /// Maximum number of former client ids under which a device asks for notices. Each costs the server a lookup.
    ///
    /// Only ids under which the device has sent something count. Beyond the limit, the device forgets the oldest id,
    /// and no longer gets notices about values that it wrote under that id.
    public static let formerClients = 256
    /// The maximum number of conditions of one filter. SQLite limits the depth of an expression to 1,000.
    public static let filterTerms = 400
    /// The maximum number of values in the lists of one filter. SQLite limits the parameters of a statement to 32,766.
    public static let filterValues = 10_000
}
