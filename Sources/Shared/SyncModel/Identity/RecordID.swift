/// The identity of a record: a UUIDv7 made by the client that creates it, never reused.
///
/// References between records are record ids, so that a record can be referred to before any server has seen it.
public struct RecordID: Hashable, Comparable, Sendable {
    public let bits: Identifier128

    public init(bits: Identifier128) {
        self.bits = bits
    }

    /// Makes a new id; ids made later sort later, to the millisecond.
    public static func make(at time: WallTime, random: inout some RandomNumberGenerator) -> RecordID {
        RecordID(bits: .version7(at: time, random: &random))
    }

    /// Reads the 36-character text form; nil when the text is anything else.
    public init?(_ text: some StringProtocol) {
        guard let bits = Identifier128(text: text) else { return nil }
        self.init(bits: bits)
    }

    public static func < (left: RecordID, right: RecordID) -> Bool {
        left.bits < right.bits
    }
}

extension RecordID: CustomStringConvertible {
    public var description: String { bits.description }
}
