/// The limits of the answers to the page of `inspect`. `PageLimits` has those of its server.
///
/// Each call reads one snapshot of the database, and must end soon: over SQLite, a server cannot copy the WAL into the
/// file while a snapshot is open.
enum InspectLimits {
    /// Maximum number of records, conflicts, members, spaces, or clients on one page.
    static let rows = 50
    /// Maximum number of commits on one page, and of their changes. A single commit is shown even if it has more.
    static let commits = 50
    /// Maximum number of records that one call searches. The page calls again from there: a thousand take a few
    /// milliseconds.
    static let searchedRows = 2_000
    /// The number of stored bytes after which a call reads no further row. A record has up to 4 MiB of text.
    static let bytes = 2 * 1_024 * 1_024
    /// Maximum number of references to a record that are shown.
    static let referrers = 50
    /// Maximum length of a value in a list, in characters. A single record shows whole values.
    static let cellCharacters = 160
    /// Maximum length of a search text, in bytes.
    static let searchBytes = 512
    /// Maximum number of changes that the summary of a commit names.
    static let namedChanges = 3
    /// The time between two looks for news, while a page waits for them. Each reads one row.
    static let newsInterval = Duration.seconds(1)
    /// The shortest time between two counts of the records of a space, which reads an index entry for each.
    static let countInterval = Duration.seconds(10)
    /// The time between two counts, as a multiple of the time that the first one took. A count of ten million records
    /// takes some seconds, in which a server cannot reset its WAL.
    static let countPause = 100
    /// Maximum number of spaces whose counts are kept.
    static let countedSpaces = 64
}
