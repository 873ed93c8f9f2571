/// The limits of the answers to the page of `syncctl inspect`. `PageLimits` has those of its server.
enum InspectLimits {
    /// Maximum number of records on one page of a list.
    static let records = 200
    /// Maximum number of entries on one page of the outbox and the journal. Each may have 1,000 changes.
    static let entries = 50
    /// Maximum length of a value in a list, in characters. A single record shows whole values.
    static let cellCharacters = 160
    /// Maximum length of a search text, in bytes.
    static let searchBytes = 512
}
