import SyncJSON

/// Encodes addresses as JSON and decodes them.
enum AddressCodec {
    /// The kinds that this build knows.
    private static let kinds: [any KnownAddress.Type] = [USAddress.self, SingaporeAddress.self, ChinaAddress.self]

    /// Returns the address in this JSON. Never fails: JSON that no known kind can represent without loss becomes an
    /// `UnknownAddress`, which keeps it whole.
    static func address(json: String) -> any Address {
        guard let value = value(of: json), case .object(let members) = value, case .string(let kind)? = value["kind"],
            let type = kinds.first(where: { $0.kind == kind }), let address = read(type, members)
        else { return UnknownAddress(json: json) }
        return address
    }

    static func json<Kind: KnownAddress>(of address: Kind) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("kind")
        writer.string(Kind.kind)
        for part in Kind.parts {
            writer.key(part.name)
            writer.string(address[keyPath: part.value])
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    static func value(of json: String) -> JSONValue? {
        do throws(JSONError) {
            return try JSONValue(Array(json.utf8))
        } catch {
            return nil
        }
    }

    /// Returns the address; nil when there is a member that the kind does not have, or one that is not a string.
    private static func read<Kind: KnownAddress>(_ kind: Kind.Type, _ members: [JSONValue.Member]) -> Kind? {
        var address = Kind()
        for member in members where member.key != "kind" {
            guard let part = Kind.parts.first(where: { $0.name == member.key }), case .string(let text) = member.value
            else { return nil }
            address[keyPath: part.value] = text
        }
        return address
    }
}
