/// How the authority's database is used.
public struct SQLiteAuthorityConfiguration: Hashable, Sendable {
    public var durability: Durability
    /// How long a call waits for another connection that holds the database.
    public var busyTimeout: Duration
    /// How many reads run beside each other.
    public var readers: Int

    public enum Durability: Hashable, Sendable {
        /// A commit is on the disk when it returns: safe against the loss of power. What a server promises.
        case full
        /// A commit survives the end of the process, but the loss of power may take the last ones back. For tests.
        case processCrash
    }

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
