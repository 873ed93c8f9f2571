import SyncJSON

/// An error in reading or writing a message.
package struct WireError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The bytes are not JSON, or not the expected message.
        case malformed
        /// A transaction does not match its own hash, because it was changed in transit.
        case damaged
        /// The value has no form on the wire: a number is not finite, the text of a JSON field is not JSON or is nested
        /// too deeply, a record does not fit its schema, or a response does not fit its request.
        case unencodable
    }

    package let code: Code
    /// The message: what was wrong, where, and what was expected.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: JSONError, in name: StaticString) {
        self.init(error.kind == .damage ? .damaged : .malformed, "\(name): \(error)")
    }
}

extension WireError: CustomStringConvertible {
    package var description: String { message }
}
