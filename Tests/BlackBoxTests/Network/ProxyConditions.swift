/// Describes how a proxy treats connections and the bytes that pass through it.
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
    /// The number of bytes to the client, or to the server, after which a connection ends.
    var cutAfterDown: Int?
    var cutAfterUp: Int?
    /// The number of requests, counted since the proxy was created, from which on nothing more is sent to the client.
    var holdsResponsesFrom: Int?
    /// The position of a byte to the client, counted from 0 on each connection. Its lowest bit is flipped.
    var damagedByteDown: Int?

    static let fair = ProxyConditions()
}

/// The traffic of a proxy since it was created.
struct ProxyTraffic: Hashable, Sendable {
    var connections = 0
    /// The number of HTTP/1.1 request heads. Under TLS, they cannot be recognized.
    var requests = 0
    /// The number of reads that returned data from the client. It stands in for the number of requests under TLS.
    var piecesUp = 0
    var bytesUp = 0
    var bytesDown = 0
    var damaged = 0
    var cut = 0
    var silenced = 0
}
