/// An address in China: province, city, district of the city, street, and postal code.
public struct ChinaAddress: KnownAddress {
    public static let kind = "china"

    /// The province or municipality: one line of 1 to 200 characters.
    public var province = ""
    /// The city: one line of 1 to 200 characters.
    public var city = ""
    /// The district of the city: one line of 1 to 200 characters.
    public var district = ""
    /// The street address: one line of 1 to 200 characters.
    public var street = ""
    /// The postal code: 6 ASCII digits.
    public var postalCode = ""

    public init() {}

    /// Creates an address without checking it. `validate()` checks the parts.
    public init(province: String, city: String, district: String, street: String, postalCode: String) {
        self.province = province
        self.city = city
        self.district = district
        self.street = street
        self.postalCode = postalCode
    }

    public static let parts: [AddressPart<ChinaAddress>] = [
        AddressPart("province", \.province, .line),
        AddressPart("city", \.city, .line),
        AddressPart("district", \.district, .line),
        AddressPart("street", \.street, .line),
        AddressPart("postal_code", \.postalCode, .digits(6)),
    ]

    public var display: String { "\(street), \(district), \(city), \(province) \(postalCode), China" }
}
