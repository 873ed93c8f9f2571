/// The contents of one party at one moment, as text.
///
/// The contents of a disk are read from a copy of it, so that reading does not change the run.
public struct Holdings: Hashable, Sendable {
    /// Whether the party's process is running.
    public var isUp: Bool
    /// The facts, in display order.
    public var facts: [Fact] = []
    /// Descriptions of the transactions in the outbox, oldest first.
    public var outbox: [String] = []
    /// The number of outbox entries that are not listed.
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
