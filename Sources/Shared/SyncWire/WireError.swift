import SyncJSON

/// Why a message could not be read or written.
package struct WireError: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        /// The bytes are not JSON, or not the message that was expected.
        case malformed
        /// A transaction does not match its own hash: something changed it on its way.
        case damaged
        /// The value has no form on the wire: a number that is not finite, a JSON field whose text is no JSON.
        case unencodable
    }

    package let code: Code
    /// Says what was wrong, where, and what was expected.
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: JSONError, in message: StaticString) {
        self.init(error.kind == .damage ? .damaged : .malformed, "\(message): \(error)")
    }
}

extension WireError: CustomStringConvertible {
    package var description: String { message }
}

/// The author of a message, and so how strictly it is read.
package enum Strictness: Hashable, Sendable {
    /// A request: a key that this build does not know is refused.
    case refusingUnknownKeys
    /// A reply: a newer server may say more than this build understands.
    case ignoringUnknownKeys
}
