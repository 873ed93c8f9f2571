/// The identity of a record: a UUID that the creating client chooses, never reused.
///
/// References between records use record ids, so that a record can be referenced before any server has seen it.
public struct RecordID: Hashable, Comparable, Sendable {
    /// The UUID: version 7 if `make` created it, version 8 for an imported record.
    public let bits: Identifier128

    /// Wraps any UUID, such as one that an import has derived from its source.
    public init(bits: Identifier128) {
        self.bits = bits
    }

    /// Returns a new id. Ids generated later sort later, to the millisecond.
    public static func make(at time: WallTime, random: inout some RandomNumberGenerator) -> RecordID {
        RecordID(bits: .version7(at: time, random: &random))
    }

    /// Parses the 36-character text form. Returns nil for any other text.
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
