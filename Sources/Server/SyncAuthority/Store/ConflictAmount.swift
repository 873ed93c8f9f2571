/// A number of conflicts, with the size of their values.
public struct ConflictAmount: Hashable, Sendable {
    /// The number of conflicts.
    public var conflicts: Int
    /// The size of their values in bytes, as the store counts them.
    public var bytes: Int

    /// Creates an amount. The defaults are what a server keeps of all spaces together.
    public init(conflicts: Int = AuthorityLimits.keptConflicts, bytes: Int = AuthorityLimits.keptConflictBytes) {
        self.conflicts = conflicts
        self.bytes = bytes
    }

    /// Whether it has more conflicts or more bytes than another amount.
    package func exceeds(_ other: ConflictAmount) -> Bool {
        conflicts > other.conflicts || bytes > other.bytes
    }
}
