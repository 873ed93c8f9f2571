public import SyncModel
public import TomboloModeling

/// An address as a field holds it: JSON, which keeps kinds and parts that this build does not know.
public struct StoredAddress: ModelValue, TextualValue {
    public typealias Base = StoredAddress

    /// The JSON text, byte for byte as it is stored.
    public let json: String

    /// Encodes the address without checking it. The rule of the field checks it when it is written.
    public init(_ address: any Address) {
        json = address.json
    }

    /// The address; an `UnknownAddress` if this build cannot read it.
    public var address: any Address { AddressCodec.address(json: json) }

    public static var storage: FieldType { .json }
    public static var empty: StoredAddress { StoredAddress(UnknownAddress(json: "")) }

    public init?(stored: FieldValue) {
        guard case .json(let json) = stored else { return nil }
        self.json = json
    }

    public var stored: FieldValue? { .json(json) }
}
