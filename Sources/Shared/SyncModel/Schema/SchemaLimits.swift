/// The limits of the model, the same on every client and server. Each of them bounds memory.
public enum SchemaLimits {
    /// Default maximum length of a text or JSON field, in UTF-8 bytes. A `Model` may not declare a larger one, because
    /// a page of rows must fit into memory many times over.
    public static let textBytes = 64 * 1_024
    /// Maximum sum of the maximum lengths of a model's text and JSON fields, in UTF-8 bytes: that of `fields` fields of
    /// the default length.
    ///
    /// A page contains at least one record, and must fit into the 64 MiB that a client accepts. In JSON, a byte of text
    /// takes at most six bytes, so the longest record takes 24 MiB. A server adds rows to a page until they have 4 MiB
    /// of JSON (`AuthorityLimits.pageBytes`), so the longest page has 28 MiB of rows. Its notices have at most 4 MiB of
    /// values, which take 24 MiB. Names, versions, and nulls take less than 6 MiB: each of 1,000 rows may be the only
    /// one of its collection, and have 64 columns of 92 bytes. Together these are 58 MiB.
    public static let recordTextBytes = fields * textBytes
    /// Maximum nesting depth of arrays and objects in a JSON field. Inside the deepest message, the value stays within
    /// the depth that every reader of JSON accepts.
    public static let jsonDepth = 32
    /// Maximum number of fields in one collection. Their versions are stored in one small blob beside the row.
    public static let fields = 64
    /// Maximum number of mutations in one transaction. A commit is never split across two pages.
    public static let mutationsPerTransaction = 1_000
    /// Maximum size of one transaction's values, in bytes. The transaction and its envelope must fit into one request.
    public static let transactionBytes = 1_024 * 1_024
    /// Maximum length of text or JSON that a field of any model may have, in UTF-8 bytes. An edit has the value that it
    /// replaces, too, and must fit into a transaction.
    public static let longestTextBytes = (transactionBytes - 1_024) / 2
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
    /// The maximum depth of a filter: of lists and negations inside one another. SQLite's parser holds at most 100
    /// symbols, and a filter of this depth takes up to 90 of them.
    public static let filterDepth = 50
    /// The maximum number of values in the lists of one filter. SQLite limits the parameters of a statement to 32,766.
    public static let filterValues = 20_000
    /// The maximum number of sort keys of one query: each field, the uid, and the id. The filter of a page after a
    /// cursor has up to two conditions for each pair of keys.
    public static let sortKeys = fields + 2
}
