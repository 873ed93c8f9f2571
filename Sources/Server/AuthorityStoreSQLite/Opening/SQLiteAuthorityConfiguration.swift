public import SyncModel

/// How the authority's database is used.
public struct SQLiteAuthorityConfiguration: Hashable, Sendable {
    /// Full is what a server promises; normal is for tests.
    public var durability: Durability
    /// How long a call waits for another connection that holds the database.
    public var busyTimeout: Duration
    /// How many reads run beside each other.
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
    /// Longer than the longest write of ours; shorter than the patience of a client.
    public static let busyTimeout = Duration.seconds(5)
    /// Each reader is a connection with a cache of 2 MB; two cores read no faster with more.
    public static let readers = 5
}
