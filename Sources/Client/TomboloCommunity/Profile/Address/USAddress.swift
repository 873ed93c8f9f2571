/// An address in the United States: street, city, state, and ZIP code.
public struct USAddress: KnownAddress {
    public static let kind = "us"

    /// The street address: one line of 1 to 200 characters.
    public var street = ""
    /// The city: one line of 1 to 200 characters.
    public var city = ""
    /// The postal service's two upper-case letters for a state, a territory, or the armed forces, such as `NY`.
    public var state = ""
    /// The ZIP code: 5 digits, or 5 digits, a hyphen, and 4 digits.
    public var zip = ""

    public init() {}

    /// Creates an address without checking it. `validate()` checks the parts.
    public init(street: String, city: String, state: String, zip: String) {
        self.street = street
        self.city = city
        self.state = state
        self.zip = zip
    }

    public static let parts: [AddressPart<USAddress>] = [
        AddressPart("street", \.street, .line),
        AddressPart("city", \.city, .line),
        AddressPart("state", \.state, AddressRule("a state's two letters, such as NY") { states.contains($0) }),
        AddressPart("zip", \.zip, AddressRule("a ZIP code: 5 digits, or 5, a hyphen and 4", holds: isZIP)),
    ]

    public var display: String { "\(street), \(city), \(state) \(zip)" }

    private static func isZIP(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        switch bytes.count {
        case 5: return bytes.allSatisfy(AddressRule.isDigit)
        case 10:
            return bytes[5] == UInt8(ascii: "-") && bytes[..<5].allSatisfy(AddressRule.isDigit)
                && bytes[6...].allSatisfy(AddressRule.isDigit)
        default: return false
        }
    }

    /// The postal service's codes for states, the District of Columbia, territories, and military "states".
    private static let states: Set<String> = [
        "AL", "AK", "AZ", "AR", "CA", "CO", "CT", "DE", "FL", "GA", "HI", "ID", "IL", "IN", "IA", "KS", "KY", "LA",
        "ME", "MD", "MA", "MI", "MN", "MS", "MO", "MT", "NE", "NV", "NH", "NJ", "NM", "NY", "NC", "ND", "OH", "OK",
        "OR", "PA", "RI", "SC", "SD", "TN", "TX", "UT", "VT", "VA", "WA", "WV", "WI", "WY", "DC", "AS", "GU", "MP",
        "PR", "VI", "UM", "FM", "MH", "PW", "AA", "AE", "AP",
    ]
}
