import SyncJSON
import SyncModel

/// An address of a kind, or with parts, that this build does not know: kept whole, byte for byte.
public struct UnknownAddress: Address, Hashable {
    public let kind: String
    public let json: String
    private let texts: [String]

    /// - Parameter json: text as it came; what is no JSON object shows nothing, and is refused when it is written.
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

    /// The texts among its parts, in their order.
    public var display: String { texts.joined(separator: ", ") }

    /// Its own rules are not known here: only its form is looked at.
    public func validate() throws(InvalidAddress) {
        if kind.isEmpty {
            throw InvalidAddress(kind: "?", part: "text", expected: "a JSON object with a kind")
        }
    }

    public static func == (left: UnknownAddress, right: UnknownAddress) -> Bool {
        left.json.hasSameBytes(as: right.json)
    }

    public func hash(into hasher: inout Hasher) {
        for byte in json.utf8 { hasher.combine(byte) }
    }
}
