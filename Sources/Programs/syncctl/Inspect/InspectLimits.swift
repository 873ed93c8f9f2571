/// The limits of `syncctl inspect`. Everyone on this machine can connect to its port.
enum InspectLimits {
    /// Maximum length of a header field, and of all header fields together, in bytes. Browsers send less than 2 KiB.
    static let headerBytes = 16 * 1_024
    static let headerFields = 64
    /// Maximum length of the body of a request, in bytes: the largest transaction, with room for its escapes in JSON.
    static let bodyBytes = 2 * 1_024 * 1_024
    /// The time in which a whole request must arrive. It comes from this machine.
    static let requestDeadline = Duration.seconds(10)
    /// The time in which the browser must read a response.
    static let responseDeadline = Duration.seconds(10)
    /// The time that a peer has to read the refusal of a body that it still sends.
    static let refusalDelay = Duration.seconds(10)
    /// Maximum number of open connections. A browser opens six for one page.
    static let connections = 64
    /// Maximum number of connections that wait to be accepted.
    static let backlog: Int32 = 64
    /// The longest wait of a call for news of the store. The page then calls again.
    static let newsTimeout = Duration.seconds(20)

    /// Maximum number of records on one page of a list.
    static let records = 200
    /// Maximum number of entries on one page of the outbox and the journal. Each may have 1,000 changes.
    static let entries = 50
    /// Maximum length of a value in a list, in characters. A single record shows whole values.
    static let cellCharacters = 160
    /// Maximum length of a search text, in bytes.
    static let searchBytes = 512
}
