/// The limits of the HTTP server that nobody needs to configure.
enum SyncServerLimits {
    // MARK: Requests

    /// The longest header field and the longest list of them, in bytes. A request of ours has less than 1 KiB.
    static let headerBytes = 16 * 1_024
    static let headerFields = 64
    /// How long the head of a request may take to arrive: the first one from the connection's first moment on, a later one from
    /// its first byte on. A head fits into a few packets.
    static let headDeadline = Duration.seconds(10)
    /// How long a peer may go on sending, or not close its side, once its last response is written: the time to read that.
    static let closeDelay = Duration.seconds(5)
    /// The slowest body, in bytes a second: time that it takes beyond its timeout. Half of what a client of ours gives
    /// itself for a long push (`SyncPolicy.uploadTime(ofBytes:)`), which is to be the first to give up.
    static let slowestBody = 4 * 1_024
    /// How many times the longest body is read, and forgotten, before the connection is given up.
    static let unreadBodies = 4
    /// The bytes that the parser is given at once. It makes requests of all of them, of at least 27 bytes each and about
    /// 1 KiB in memory: this bounds how many wait for the response to the first.
    static let parsedBytes = 2 * 1_024
    /// The bytes of one connection that wait for a response before the parser sees them. The system reads 64 KiB at once, and
    /// more only when the peer has closed its side.
    static let heldBytes = 256 * 1_024
    /// The spaces of one event stream.
    static let spacesPerStream = 64

    // MARK: Responses

    /// How long a peer may take nothing of what waits for it. As long as a client of ours waits for a response.
    static let writeTimeout = Duration.seconds(30)
    /// The slowest peer that keeps its connection, in bytes a second: a link of 8 kbit/s.
    static let slowestReader = 1_024
    /// The bytes that the system takes from a connection before it sends them (TCP_NOTSENT_LOWAT). More would hide for minutes
    /// whether a slow peer still reads.
    static let unsentBytes = 16 * 1_024
    /// The length of the pieces in which a response is written, in bytes: what waits on one stream is seen to shrink.
    static let responseBytes = 16 * 1_024

    // MARK: Connections

    /// Connections that wait to be accepted: a fleet that comes back at once.
    static let backlog = 4_096
    /// One part in this many of all connections is left to those that have shown no good token yet.
    static let strangerShare = 4
    /// The streams of HTTP/2 that a connection may have open before it has shown a good token. A client of ours opens two.
    static let streamsOfStranger = 16

    // MARK: Principals

    /// The requests of one principal that are answered at one time. A device of ours has two, and people have few devices.
    static let requestsPerPrincipal = 64
    /// The event streams of one principal at one time: one for each of their devices.
    static let streamsPerPrincipal = 256
    /// The bytes of bodies that are held for one principal, and for all, at one time.
    static let bodyBytesPerPrincipal = 32 * 1_024 * 1_024
    static let bodyBytes = 256 * 1_024 * 1_024
    /// When to come back after too many requests at one time, in seconds.
    static let busyRetrySeconds = 1

    // MARK: Tokens and health

    /// The longest token, in bytes, and the longest file of tokens.
    static let tokenBytes = 4 * 1_024
    static let tokenFileBytes = 4 * 1_024 * 1_024
    /// How long an answer about the server's health is kept: strangers may ask, and each look costs a read of the store.
    static let healthInterval = Duration.seconds(1)
}
