/// An address in Singapore: street and postal code, without a city or state.
public struct SingaporeAddress: KnownAddress {
    public static let kind = "singapore"

    /// The street, with the block and the unit if there are any: one line of 1 to 200 characters.
    public var street = ""
    /// The postal code: 6 ASCII digits.
    public var postalCode = ""

    public init() {}

    /// Creates an address without checking it. `validate()` checks the parts.
    public init(street: String, postalCode: String) {
        self.street = street
        self.postalCode = postalCode
    }

    public static let parts: [AddressPart<SingaporeAddress>] = [
        AddressPart("street", \.street, .line),
        AddressPart("postal_code", \.postalCode, .digits(6)),
    ]

    public var display: String { "\(street), Singapore \(postalCode)" }
}
