/// The identity that a server derives from a client's token.
///
/// A database belongs to the account under which it first contacted the server. Edits written under one account are
/// never sent with the token of another, and data that one account may see never enters another account's database
/// (I21).
public struct AccountID: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension AccountID: CustomStringConvertible {
    public var description: String { rawValue }
}
