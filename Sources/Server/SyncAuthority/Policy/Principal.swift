public import SyncModel

/// The account that makes a request. The server derives it from a credential; a client never supplies it.
public struct Principal: Hashable, Sendable {
    /// The name of the account, unique on the server.
    public let name: String

    /// Creates the principal with this name, without checking that there is such an account.
    public init(name: String) {
        self.name = name
    }

    /// Whether a name from outside, such as that of a token, may name a principal: 1 to 128 visible ASCII characters,
    /// of which the first is not `#`, because such a line of a token file is a comment.
    package static func isValidName(_ name: String) -> Bool {
        (1...128).contains(name.utf8.count) && !name.hasPrefix("#")
            && name.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The account id that clients see.
    public var account: AccountID { AccountID(rawValue: name) }

    /// Checks that a request is meant for this principal.
    ///
    /// A request for one account may arrive with the token of another: when the user of a device changes, edits written
    /// earlier may still be on their way (I21).
    ///
    /// - Parameter account: the account that the request names; nil accepts any principal.
    /// - Throws: `otherAccount`.
    package func check(isMeantBy account: AccountID?) throws(AuthorityError) {
        guard let account, account != self.account else { return }
        throw AuthorityError(
            .otherAccount, "the request is for the account '\(account)', but the token belongs to '\(self.account)'")
    }
}
