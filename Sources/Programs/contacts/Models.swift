import Tombolo

/// A person in the contact book.
struct Contact: Model {
    static let collection = "contact"
    let name = Field<String>("name", .required, .length(1...100), .rule(.name), .indexed)
    let phone = Field<String?>("phone", .length(1...40))
    let email = Field<String?>("email", .length(3...200), .rule(email))
    let notes = Field<String?>("notes", .length(1...4_000))
    let company = Reference<Company>("company", .indexed)

    static let email = FieldRule(name: "email") { text in
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        return parts.count == 2 && !parts.contains("") ? nil : "has to be an address, such as ned@example.org"
    }
}

/// A company for which people work.
struct Company: Model {
    static let collection = "company"
    let name = Field<String>("name", .required, .length(1...100), .rule(.name), .indexed)
}
