/// The limits of the HTTP client.
enum HTTPTransportLimits {
    /// The longest body of an error, in bytes: a sentence for a person, not a page.
    static let errorBytes = 64 * 1_024
    /// The longest pause that an answer in other words than the server's can ask for: it may be gone with the next network.
    static let longestForeignPause = Duration.seconds(120)
    /// The bytes of a request's body that a connection gets at once: two seconds of the slowest upload.
    static let pieceBytes = 16 * 1_024
    /// Bytes a second at which a reply may go on past its deadline: slower than any link that is worth waiting for.
    static let slowestReply = 1_024
    /// The longest line of an event stream, in bytes: a hint is short.
    static let eventLineBytes = 8 * 1_024
    /// The spaces of one event stream: a server of ours takes no more.
    static let spacesPerStream = 64
    /// The event streams of one device, each a connection of HTTP/1.1: a device with more spaces is left to its polls.
    static let streams = 8
    /// Hints that nobody has taken yet; the oldest are dropped. A reader that is so late hears of those by its next poll.
    static let waitingHints = 64
    /// The longest `Retry-After` that is believed: a server that asks for more is asked again after a day.
    static let retryAfter = Duration.seconds(24 * 60 * 60)
    /// The longest token, in bytes: servers refuse longer headers anyway.
    static let tokenBytes = 8 * 1_024
}
