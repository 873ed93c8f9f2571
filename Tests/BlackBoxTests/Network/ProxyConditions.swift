/// A proxy's treatment of the bytes that pass through it.
struct ProxyConditions: Hashable, Sendable {
    /// The delay of each piece of data, in both directions.
    var delay = Duration.zero
    /// Whether connections pass neither data nor their end. A connection that is open during this time stays silent
    /// forever.
    var isHalfOpen = false
    /// Whether connections are reset at once.
    var refuses = false
    /// The number of pieces per thousand in which one bit is flipped.
    var damage = 0
    /// The number of bytes to the client, or to the server, after which a connection is reset.
    var cutAfterDown: Int?
    var cutAfterUp: Int?
    /// The number of requests since the proxy was created after which nothing more goes to the client.
    var holdsResponsesFrom: Int?
    /// The byte sent to the client whose lowest bit is flipped, counted from 0 on each connection.
    var damagedByteDown: Int?

    static let fair = ProxyConditions()
}

/// The traffic of a proxy since it was created.
struct ProxyTraffic: Hashable, Sendable {
    var connections = 0
    /// The number of HTTP/1.1 request heads, as far as they are readable.
    var requests = 0
    /// The number of pieces from the client. Under TLS this is an upper bound of the number of requests.
    var piecesUp = 0
    var bytesUp = 0
    var bytesDown = 0
    var damaged = 0
    var cut = 0
    var silenced = 0
}
