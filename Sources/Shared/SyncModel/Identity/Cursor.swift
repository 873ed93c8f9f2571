/// A client's position in a space. It is opaque to clients: only the server creates and reads it.
public struct Cursor: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension Cursor: CustomStringConvertible {
    public var description: String { rawValue }
}
