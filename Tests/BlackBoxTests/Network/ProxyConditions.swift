/// A proxy's behavior toward the bytes that pass it.
struct ProxyConditions: Hashable, Sendable {
    /// How long each piece waits, both ways.
    var delay = Duration.zero
    /// No bytes, no end: what is open now, or is opened while it lasts, stays silent forever.
    var isHalfOpen = false
    /// Connections are reset at once.
    var refuses = false
    /// How many of a thousand pieces have one bit turned over.
    var damage = 0
    /// Connections are reset once this many bytes have gone to the client, or to the server.
    var cutAfterDown: Int?
    var cutAfterUp: Int?
    /// Nothing goes to the client any more once so many requests have passed since the proxy was made.
    var holdsAnswersFrom: Int?
    /// The byte of the way to the client whose lowest bit is turned over, counted from 0 on each connection.
    var damagedByteDown: Int?

    static let fair = ProxyConditions()
}

/// The traffic of a proxy since it was made.
struct ProxyTraffic: Hashable, Sendable {
    var connections = 0
    /// Heads of HTTP/1.1 requests, as far as they can be read.
    var requests = 0
    /// Pieces that came from the client, which under TLS are the most that there can have been requests.
    var piecesUp = 0
    var bytesUp = 0
    var bytesDown = 0
    var damaged = 0
    var cut = 0
    var silenced = 0
}
