/// The limits on what one account may store on a server.
///
/// An account that has reached one keeps all its rights, except that it may not store more.
public struct AccountLimits: Hashable, Sendable {
    /// Maximum size of the records that the account has created, in bytes. See `StoredUsage`.
    public var bytes: Int
    /// Maximum number of clients with which the account has pushed. A device is one client, unless its database is lost
    /// or copied.
    ///
    /// A device that takes a new client id, for example after its database was restored, names the former ids under
    /// which it has sent its transactions. These do not count any more, unless another copy of the database pushes with
    /// them. The limit is for devices that tell the truth: it does not bound the number of ids that a modified device
    /// uses up.
    public var clients: Int

    /// Creates limits.
    public init(bytes: Int = .max, clients: Int = .max) {
        self.bytes = bytes
        self.clients = clients
    }

    /// No limits.
    public static let unlimited = AccountLimits()
}

/// The data that one account has stored on a server.
public struct StoredUsage: Hashable, Sendable {
    /// The number of records that the account has created. Deleted records count, because their ids stay.
    public var records: Int
    /// The size of these records: the stored length of their fields, whoever has written them, and
    /// `AuthorityLimits.recordBytes` for each record.
    public var bytes: Int

    /// Creates a usage.
    public init(records: Int = 0, bytes: Int = 0) {
        self.records = records
        self.bytes = bytes
    }
}
