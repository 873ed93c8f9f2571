public import SyncModel

/// The account behind a request: made by the server from a credential, never by a client.
public struct Principal: Hashable, Sendable {
    public let name: String

    public init(name: String) {
        self.name = name
    }

    /// The name of the principal for clients.
    public var account: AccountID { AccountID(rawValue: name) }

    /// A request on behalf of one account may come with the token of another: when the user of a device changes, what
    /// was written before is still on its way (I21).
    ///
    /// - Throws: `otherAccount`.
    package func check(isMeantBy account: AccountID?) throws(AuthorityFailure) {
        guard let account, account != self.account else { return }
        throw AuthorityFailure(
            .otherAccount, "the request is on behalf of '\(account)', but the token is of '\(self.account)'")
    }
}
