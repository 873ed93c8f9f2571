/// The contents of one party at a moment, in words. Those of its disk are read from a copy of the disk, so that looking
/// changes nothing.
public struct Holdings: Hashable, Sendable {
    /// Whether its process runs.
    public var isUp: Bool
    /// In the order in which they are shown.
    public var facts: [Fact] = []
    /// The transactions in its outbox, oldest first.
    public var outbox: [String] = []
    /// How many more there are than are listed.
    public var unlisted = 0

    public struct Fact: Hashable, Sendable {
        public let name: String
        public let value: String
    }

    init(isUp: Bool) {
        self.isUp = isUp
    }

    mutating func add(_ name: String, _ value: String) {
        facts.append(Fact(name: name, value: value))
    }
}
