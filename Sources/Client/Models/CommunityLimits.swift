/// The limits of the community's models and of the ways to reach them.
enum CommunityLimits {
    /// A username in UTF-8 bytes: long enough for any name that a login takes, short enough for one line.
    static let usernameBytes = 1...64
    /// The address of a picture; what browsers and proxies agree to carry.
    static let imageURLBytes = 1...2_048
    /// A full name in UTF-8 bytes: the comment of an account fits.
    static let fullNameBytes = 1...256
    /// An address as JSON, also one of a kind that this build does not know.
    static let addressBytes = 2...4_096
    /// One part of an address, in characters: it is shown on one line.
    static let addressPartCharacters = 200
    /// The records that a query straight to the server goes through: they are held in memory.
    static let remoteScanRecords = 10_000
    /// The records of one page of such a query.
    static let remotePageRecords = 500
    /// The pages of such a query: a server that never ends is given up.
    static let remoteScanPages = 1_000
}
