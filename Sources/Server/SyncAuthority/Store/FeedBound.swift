/// The maximum size of the change feed of a space.
public struct FeedBound: Hashable, Sendable {
    /// Maximum number of commits.
    public var commits: Int
    /// Maximum number of bytes of all changes, as the store counts them.
    public var bytes: Int

    /// Creates a bound. The defaults are those of a server.
    public init(commits: Int = AuthorityLimits.keptCommits, bytes: Int = AuthorityLimits.keptFeedBytes) {
        self.commits = max(commits, 0)
        self.bytes = max(bytes, 0)
    }
}
