/// The failures that an acknowledged write survives.
public enum Durability: String, Hashable, Sendable, CaseIterable {
    /// A crash of the process. After a power loss, the newest writes may be missing.
    case normal
    /// A power loss too, at the price of a flush for each write.
    case full
}
