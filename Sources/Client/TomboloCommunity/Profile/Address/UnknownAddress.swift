import SyncJSON
import SyncModel

/// An address of a kind, or with parts, that this build does not know. It is kept whole, byte for byte.
public struct UnknownAddress: Address, Hashable {
    public let kind: String
    public let json: String
    private let texts: [String]

    /// Wraps the text of an address.
    ///
    /// - Parameter json: The text as received. If it is not a JSON object with a kind, the address displays as empty
    ///   and is rejected on writing.
    public init(json: String) {
        self.json = json
        guard let value = AddressCodec.value(of: json), case .object(let members) = value,
            case .string(let kind)? = value["kind"]
        else {
            kind = ""
            texts = []
            return
        }
        self.kind = kind
        texts = members.compactMap { member in
            if member.key != "kind", case .string(let text) = member.value { text } else { nil }
        }
    }

    /// The text parts, in their order.
    public var display: String { texts.joined(separator: ", ") }

    /// Checks only the form, because the rules of the kind are not known here.
    public func validate() throws(InvalidAddressError) {
        if kind.isEmpty {
            throw InvalidAddressError(kind: "?", part: "text", expected: "a JSON object with a kind")
        }
    }

    public static func == (left: UnknownAddress, right: UnknownAddress) -> Bool {
        left.json.hasSameBytes(as: right.json)
    }

    public func hash(into hasher: inout Hasher) {
        for byte in json.utf8 { hasher.combine(byte) }
    }
}
