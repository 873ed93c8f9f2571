import Tombolo

/// The functions of the contact book, without its command line. They work on a client, and on a device of the test kit.
struct ContactBook: Sendable {
    static let models: [any Model.Type] = [Contact.self, Company.self]

    let access: any ModelAccess

    /// Returns the query for the contacts whose names begin with `prefix`, ordered by name.
    func contacts(_ prefix: String = "") -> ModelQuery<Contact> {
        let all = access.query(Contact.self).sorted { [$0.name.ascending] }
        return prefix.isEmpty ? all : all.where { $0.name.hasPrefix(prefix) }
    }

    /// Returns the contact with this name or id.
    func contact(named name: String) async throws -> Live<Contact> {
        if let id = RecordID(name) {
            let contact = try access.object(Contact.self, id: id)
            if contact.presence == .here { return contact }
        }
        let found = try await access.query(Contact.self).where { $0.name == name }.limit(10).all()
        guard let contact = found.first else { throw BookError("there is no '\(name)'") }
        guard found.count == 1 else {
            let choices = found.map { "\n  \($0.id.map { "\($0)" } ?? "")  \($0.text)" }.joined()
            throw BookError("there is more than one '\(name)'; give one of these ids in place of the name:\(choices)")
        }
        return contact
    }

    /// Creates a contact, and its company if that is new, in one transaction.
    func add(_ name: String, _ details: [Detail]) async throws {
        let contact = try access.draft(Contact.self) { $0.name = name }
        for detail in details { try await set(detail, on: contact) }
        try await contact.create()
    }

    func edit(_ name: String, _ details: [Detail]) async throws {
        let contact = try await contact(named: name)
        for detail in details { try await set(detail, on: contact) }
        try await contact.save()
    }

    private func set(_ detail: Detail, on contact: Live<Contact>) async throws {
        switch detail.field {
        case .name: contact.name = detail.value ?? ""
        case .phone: contact.phone = detail.value
        case .email: contact.email = detail.value
        case .notes: contact.notes = detail.value
        case .company:
            guard let name = detail.value else { return contact.company = nil }
            // A contact can only refer to a company in its own space.
            let known = try await access.query(Company.self).where { $0.name == name }.all()
                .first { try $0.space == contact.space ?? .default }
            contact.company = try known ?? access.draft(Company.self) { $0.name = name }
        }
    }

    // MARK: Decisions

    /// Returns the changes that the server has rejected or lost, and then the values that lost against other devices:
    /// one line each, which begins with the number of the journal entry.
    func problems() throws -> [String] {
        let rejected = try access.rejections.all().map { rejection in
            let fields = rejection.fields.map(\.field).joined(separator: ", ")
            let kind = rejection.code == .lost ? "lost" : "rejected"
            let changes = try rejection.changes.map { try text(of: $0) }.joined(separator: "; ")
            return "\(rejection.id) \(kind)\(fields.isEmpty ? "" : " (\(fields))"): \(rejection.message): \(changes)"
        }
        return try rejected + access.merges.all().map { "\($0.id) \($0)" }
    }

    private func text(of change: AttemptedChange) throws -> String {
        var name: String?
        if change.collection == Contact.collection {
            let contact = try access.object(Contact.self, id: change.record)
            name = change.value(contact.fields.name) ?? (contact.presence == .here ? contact.name : nil)
        }
        return (name.map { "\($0): " } ?? "") + "\(change)"
    }

    /// Sends a rejected change again, or writes the values again that were lost in a merge.
    func retry(_ number: Int64) throws {
        if let rejection = try rejection(number) { return try rejection.retry() }
        try merge(number).restore()
    }

    /// Drops a rejected change, or accepts a merge.
    func discard(_ number: Int64) throws {
        if let rejection = try rejection(number) { return try rejection.discard() }
        try merge(number).accept()
    }

    private func rejection(_ number: Int64) throws -> RejectedWrite? {
        try access.rejections.all().first { $0.id == number }
    }

    private func merge(_ number: Int64) throws -> MergedWrite {
        guard let merge = try access.merges.all().first(where: { $0.id == number }) else {
            throw BookError("there is no problem \(number)")
        }
        return merge
    }
}

/// A detail of a contact, as it is written on the command line: `phone=+49 30 1234`.
struct Detail: Equatable {
    enum Field: String, CaseIterable {
        case name, phone, email, company, notes
    }

    let field: Field
    /// Nil to remove the detail.
    let value: String?

    /// Reads details of different fields.
    static func all(_ texts: ArraySlice<String>) throws(BookError) -> [Detail] {
        var details: [Detail] = []
        for text in texts {
            // Split by code unit: a combining mark after the equals sign would form one character with it.
            let parts = text.utf8.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
                .map { String(Substring($0)) }
            guard parts.count == 2, let field = Field(rawValue: parts[0]), field != .name || !parts[1].isEmpty else {
                let fields = Field.allCases.map { "\($0)=" }.joined(separator: ", ")
                throw BookError("'\(text)' is not a valid detail; expected \(fields), and a name that is not empty")
            }
            guard !details.contains(where: { $0.field == field }) else { throw BookError("'\(field)=' is given twice") }
            details.append(Detail(field: field, value: parts[1].isEmpty ? nil : parts[1]))
        }
        return details
    }
}

struct BookError: Error, Equatable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
