package import SyncJSON
package import SyncModel

/// The arguments of a call: the members of one JSON object.
package struct PageArguments: Sendable {
    private let members: [JSONValue.Member]

    package init(_ body: [UInt8]) throws(PageError) {
        do throws(JSONError) {
            guard case .object(let members) = try JSONValue(body) else {
                throw JSONError(.content, at: 0, "expected an object")
            }
            self.members = members
        } catch {
            throw PageError(400, "the request is not valid JSON: \(error)")
        }
    }

    /// Throws if there are other arguments than these.
    package func require(only names: String...) throws(PageError) {
        for member in members where !names.contains(member.key) {
            throw PageError(
                400, "the argument '\(member.key.prefix(64))' is unknown; expected \(names.joined(separator: ", "))")
        }
    }

    /// Returns an argument of any kind; nil if it is missing or null.
    package func value(_ name: String) -> JSONValue? {
        let value = members.first { $0.key == name }?.value
        return value == .null ? nil : value
    }

    /// Returns a text; nil if it is missing.
    package func text(_ name: String) throws(PageError) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value else { throw Self.wrong(name, "a text") }
        return text
    }

    package func requiredText(_ name: String) throws(PageError) -> String {
        guard let text = try text(name) else { throw Self.wrong(name, "a text") }
        return text
    }

    /// Returns a whole number; nil if it is missing.
    package func number(_ name: String) throws(PageError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .integer(let number) = value else { throw Self.wrong(name, "a whole number") }
        return number
    }

    package func requiredNumber(_ name: String) throws(PageError) -> Int64 {
        guard let number = try number(name) else { throw Self.wrong(name, "a whole number") }
        return number
    }

    /// Returns the number of results to return: the argument `limit`, or `maximum` if it is missing or greater.
    package func limit(upTo maximum: Int) throws(PageError) -> Int {
        guard let number = try number("limit") else { return maximum }
        guard number > 0 else { throw Self.wrong("limit", "a number of at least 1") }
        return Int(min(number, Int64(maximum)))
    }

    /// Returns a flag; false if it is missing.
    package func flag(_ name: String) throws(PageError) -> Bool {
        guard let value = value(name) else { return false }
        guard case .boolean(let flag) = value else { throw Self.wrong(name, "true or false") }
        return flag
    }

    package func record(_ name: String) throws(PageError) -> RecordID {
        guard let id = RecordID(try requiredText(name)) else { throw Self.wrong(name, "the id of a record") }
        return id
    }

    /// Returns an object of texts; empty if it is missing.
    package func texts(_ name: String) throws(PageError) -> [(name: String, text: String)] {
        guard let value = value(name) else { return [] }
        guard case .object(let members) = value else { throw Self.wrong(name, "an object of texts") }
        return try members.map { (member) throws(PageError) in
            guard case .string(let text) = member.value else { throw Self.wrong(name, "an object of texts") }
            return (member.key, text)
        }
    }

    /// Returns the refusal of an argument that is missing or of another kind.
    package static func wrong(_ name: String, _ expected: String) -> PageError {
        PageError(400, "the argument \(name) is missing or of another kind; expected \(expected)")
    }
}
