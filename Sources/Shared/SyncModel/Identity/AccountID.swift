/// Whom a server takes the bearer of a token for.
///
/// Edits written under one account are never sent with the token of another, and what one may see never gets into the
/// other's database (I21): a database belongs to the account that it first met the server with.
public struct AccountID: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }
}

extension AccountID: CustomStringConvertible {
    public var description: String { rawValue }
}
