/// Limits of the community's models.
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
}
