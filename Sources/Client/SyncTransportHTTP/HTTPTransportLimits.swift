/// The limits of the HTTP client.
enum HTTPTransportLimits {
    /// Largest body of an error, in bytes: a sentence for a person, not a page.
    static let errorBytes = 64 * 1_024
    /// Longest pause that a proxy or gateway can request: the device may soon be in a network without it.
    static let longestForeignPause = Duration.seconds(120)
    /// Bytes of a request body that a connection gets at once: two seconds of the slowest upload.
    static let pieceBytes = 16 * 1_024
    /// Minimum rate, in bytes per second, at which a response may continue past its deadline: slower than any useful
    /// link.
    static let slowestResponse = 1_024
    /// Longest line of an event stream, in bytes: a hint is short.
    static let eventLineBytes = 8 * 1_024
    /// Bytes of an event stream in each `streamWindow`: more than our server sends when it commits in all spaces of a
    /// stream as fast as it can.
    static let streamBytes = 4 * 1_024 * 1_024
    /// The time over which the bytes of an event stream are counted.
    static let streamWindow = Duration.seconds(10)
    /// Spaces per event stream. Our server accepts no more.
    static let spacesPerStream = 64
    /// Event streams per device. Each one is a connection; a device with more spaces polls instead.
    static let streams = 8
    /// Connections for calls: a push, and a pull of each space. Our server answers as many requests of an account at
    /// once. A call beyond them waits for a connection, and fails after the connect timeout as if the server could not
    /// be reached.
    static let connections = 64
    /// Hints that wait to be read; older ones are dropped. A reader that is this slow learns of those changes by its
    /// next poll.
    static let waitingHints = 64
    /// Longest `Retry-After` that the transport reports. The engine waits for at most `BackoffPolicy.longestRetryAfter`
    /// of it.
    static let retryAfter = Duration.seconds(24 * 60 * 60)
    /// Longest token, in bytes. Servers refuse longer headers anyway.
    static let tokenBytes = 8 * 1_024
}
