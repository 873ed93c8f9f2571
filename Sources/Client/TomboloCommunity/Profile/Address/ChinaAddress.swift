/// An address in China: province, city, district of the city, street, and postal code.
public struct ChinaAddress: KnownAddress {
    public static let kind = "china"

    public var province = ""
    public var city = ""
    public var district = ""
    public var street = ""
    public var postalCode = ""

    public init() {}

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
