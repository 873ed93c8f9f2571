/// The limits of the model itself, the same on every client and server. Each bounds memory, not taste.
public enum SchemaLimits {
    /// The longest text or JSON of one field, in UTF-8 bytes: a page of rows must fit into memory many times.
    public static let textBytes = 64 * 1_024
    /// The fields of one collection: their versions are kept in one small blob beside the row.
    public static let fields = 64
    /// The mutations of one transaction: a commit is never split over two pages.
    public static let mutationsPerTransaction = 1_000
    /// The bytes of one transaction's values: it must fit into one request beside its envelope.
    public static let transactionBytes = 1_024 * 1_024
    /// How far in the future a stamp may lie before it is clamped: more than honest clocks differ.
    public static let permittedSkew = Duration.seconds(60)
    /// The cursors that one push shows: each costs the server a lookup under its write lock.
    public static let shownCursors = 64
    /// Earlier client ids that a device remembers, and earlier numbers of one transaction that it tells: each renewed
    /// identity adds one, and the oldest is dropped. A device that is copied more often than this is a template.
    public static let formerClients = 16
}
