/// The identity of a server's history. A server that was restored from a backup starts a new one.
public struct Epoch: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension Epoch: CustomStringConvertible {
    public var description: String { rawValue }
}
