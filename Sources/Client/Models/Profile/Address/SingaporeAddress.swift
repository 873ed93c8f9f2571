/// Street and postal code: a city that is a country needs no state.
public struct SingaporeAddress: KnownAddress {
    public static let kind = "singapore"

    /// With the block and the unit, where there are such.
    public var street = ""
    public var postalCode = ""

    public init() {}

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
