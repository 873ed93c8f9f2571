/// Limits of the community's models and of the sources.
enum CommunityLimits {
    /// Length of a username in UTF-8 bytes: long enough for any login name, short enough for one line.
    static let usernameBytes = 1...64
    /// Length of an image URL in bytes, which browsers and proxies commonly accept.
    static let imageURLBytes = 1...2_048
    /// Length of a full name in UTF-8 bytes, enough for the comment of a system account.
    static let fullNameBytes = 1...256
    /// Length of an address as JSON in bytes, including kinds that this build does not know.
    static let addressBytes = 2...4_096
    /// Length of one part of an address in characters: it is shown on one line.
    static let addressPartCharacters = 200
    /// Number of records that a query straight to the server reads, all of which are held in memory.
    static let remoteScanRecords = 10_000
    /// Number of records in one page of such a query.
    static let remotePageRecords = 500
    /// Number of pages of such a query, so that a server whose pages never end is given up.
    static let remoteScanPages = 1_000
}
