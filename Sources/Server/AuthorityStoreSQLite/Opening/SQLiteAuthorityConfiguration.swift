public import SyncModel

/// The configuration of the authority's database.
public struct SQLiteAuthorityConfiguration: Hashable, Sendable {
    /// The failures that an acknowledged commit survives.
    public var durability: Durability
    /// The time that a call waits for another connection that holds the database.
    public var busyTimeout: Duration
    /// Maximum number of concurrent reads.
    public var readers: Int

    public init(
        durability: Durability = .full, busyTimeout: Duration = SQLiteAuthorityLimits.busyTimeout,
        readers: Int = SQLiteAuthorityLimits.readers
    ) {
        self.durability = durability
        self.busyTimeout = busyTimeout
        self.readers = readers
    }
}

/// The limits of the store.
public enum SQLiteAuthorityLimits {
    /// The default busy timeout. It is longer than the longest write of the authority, and shorter than a client's
    /// timeout.
    public static let busyTimeout = Duration.seconds(5)
    /// The default number of readers. Each is a connection with a cache of 2 MB, and two cores read no faster with
    /// more.
    public static let readers = 5
}
