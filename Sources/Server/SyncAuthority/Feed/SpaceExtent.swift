public import SyncModel

/// The range of commits in the change feed of a space.
public struct SpaceExtent: Hashable, Sendable {
    /// The version of the newest commit; `.zero` before the first one.
    public let head: Version
    /// The change feed contains every commit after this version.
    public let horizon: Version

    /// Creates the range of commits after `horizon`, up to and including `head`.
    public init(head: Version, horizon: Version) {
        self.head = head
        self.horizon = horizon
    }

    /// The extent of a space without commits.
    public static let empty = SpaceExtent(head: .zero, horizon: .zero)
}
