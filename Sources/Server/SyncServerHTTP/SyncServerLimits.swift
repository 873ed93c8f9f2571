import NIOCore
import SyncAuthority

/// The limits of the HTTP server that need no configuration.
enum SyncServerLimits {
    // MARK: Requests

    /// Maximum length of a header field, and of all header fields together, in bytes. The header fields of a Tombolo
    /// client have less than 1 KiB.
    static let headerBytes = 16 * 1_024
    /// Maximum number of header fields in one request.
    static let headerFields = 64
    /// The time in which the head of a request must arrive, counted from the start of the connection for the first
    /// request, and from the first byte for later ones. A head fits into a few packets.
    static let headDeadline = Duration.seconds(10)
    /// The time between the last response on a connection and its end, in which the peer can read the response. The
    /// peer may still send, or keep its side open.
    static let closeDelay = Duration.seconds(5)
    /// Minimum rate of a request body that takes longer than the body timeout, in bytes per second. It is half the rate
    /// that a Tombolo client requires of a long push (`SyncPolicy.uploadTime(ofBytes:)`), because the client should
    /// give up first.
    static let slowestBody = 4 * 1_024
    /// Multiple of the maximum body length up to which a body is read and discarded. Beyond it, the connection is
    /// closed.
    static let unreadBodies = 4
    /// Maximum number of bytes that the parser gets at once. The parser turns all of them into requests of at least 27
    /// bytes each, which take about 1 KiB in memory. This limits how many requests wait for the response to the first
    /// one.
    static let parsedBytes = 2 * 1_024
    /// Maximum number of bytes of one connection that wait for a response before the parser sees them. The system reads
    /// 64 KiB at once, and more only when the peer has closed its side.
    static let heldBytes = 256 * 1_024
    /// Maximum number of spaces in one event stream.
    static let spacesPerStream = 64

    /// Maximum number of waiting pushes that are offered to the authority at once. It makes at most this many
    /// transactions durable together.
    static let pushesTogether = AuthorityLimits.transactionsPerWrite

    // MARK: Responses

    /// The time for which a peer may read none of the bytes that wait for it. It equals the default time for which a
    /// Tombolo client waits for a response.
    static let writeTimeout = Duration.seconds(30)
    /// Minimum rate, in bytes per second, at which a peer must read to keep its connection: a link of 8 kbit/s.
    static let slowestReader = 1_024
    /// The number of unsent bytes that the system takes from a connection (TCP_NOTSENT_LOWAT). With more, it would take
    /// minutes to see whether a slow peer still reads.
    static let unsentBytes = 16 * 1_024
    /// The length of the pieces in which a response is written, in bytes, so that little of it waits in memory.
    static let responseBytes = 16 * 1_024

    // MARK: Connections

    /// Maximum number of connections that wait to be accepted: many devices may reconnect at once.
    static let backlog = 4_096
    /// The divisor that gives the share of all connections reserved for those that have not presented a valid token
    /// yet.
    static let unauthenticatedShare = 4

    // MARK: Principals

    /// Maximum number of concurrent requests of one principal. A device has a push and the pulls of its spaces, and
    /// people have few devices.
    static let requestsPerPrincipal = 64
    /// Maximum number of event streams of one principal: one for each device. It is well below the default limit of
    /// connections from one address, because other accounts may share the address.
    static let streamsPerPrincipal = 64
    /// The divisor that gives the share of an address's connections that one principal may use for event streams, and
    /// again for requests: 4 grants a quarter to each.
    static let principalShareOfAddress = 4
    /// Maximum number of bytes of request bodies that are in memory for one principal, and for all principals.
    static let bodyBytesPerPrincipal = 32 * 1_024 * 1_024
    static let bodyBytes = 256 * 1_024 * 1_024
    /// The time after which a client should retry after too many concurrent requests, in seconds.
    static let busyRetrySeconds = 1

    // MARK: Metrics

    /// Maximum number of connections to the metrics: a few programs that read them.
    static let metricsConnections = 16

    // MARK: Tokens and health

    /// The default time for which a token stays accepted while the body of a request arrives. After a body that took
    /// longer, the token is checked again.
    static let tokenAge = TimeAmount.seconds(1)
    /// Maximum length of a token, and of a token file, in bytes.
    static let tokenBytes = 4 * 1_024
    static let tokenFileBytes = 4 * 1_024 * 1_024
    /// Maximum length of a file of keys for JSON Web Tokens, in bytes, and maximum number of files in a folder. Issuers
    /// have a few keys of less than 1 KiB.
    static let keyFileBytes = 1_024 * 1_024
    static let keyFiles = 64
    /// Maximum length of the `kid` of a key, in bytes. A token repeats the `kid` of its key, within `tokenBytes`.
    static let keyIDBytes = 256
    /// Maximum length of the modulus of an RSA key, in bytes. The time that a signature takes grows with its square.
    static let modulusBytes = 1_024
    /// The latest time in a JSON Web Token, in seconds since 1970: the end of the year 9999.
    static let latestTime: Int64 = 253_402_300_799
    /// Maximum number of verified JSON Web Tokens in memory, each with less than 300 bytes. Only valid tokens are kept,
    /// so only the issuer can cause this many.
    static let verifiedTokens = 10_000
    /// The time for which the result of a health check is reused. The route is open to everyone, and each check costs a
    /// read of the store.
    static let healthInterval = Duration.seconds(1)
    /// The time in which the store must answer a health check. A database that hangs would otherwise keep a load
    /// balancer waiting for as long as a push.
    static let healthTimeout = Duration.seconds(5)

    /// The free space of the disk below which a server is not ready. It suffices for some pushes of the maximum length,
    /// which are in the WAL and in the database until the next checkpoint.
    static let leastFreeBytes: Double = 64 * 1_024 * 1_024
    /// The time for which the store counts as damaged after a call or a check has found damage. After that, the next
    /// health check checks the whole store, which reads the whole database.
    static let damageInterval = Duration.seconds(10)
}
