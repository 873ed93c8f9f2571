/// A notification that something was committed in a space, so that the client pulls now.
///
/// Hints only reduce latency. Correctness never depends on them.
public struct Hint: Hashable, Sendable {
    /// The space with the commit.
    public let space: SpaceID
    /// The newest version of the space when the hint was sent. The device may have it already.
    public let head: Version

    /// Creates a hint for one space.
    public init(space: SpaceID, head: Version) {
        self.space = space
        self.head = head
    }
}
