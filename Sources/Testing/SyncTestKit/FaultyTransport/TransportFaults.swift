/// The faults of a `FaultyTransport`. Each rate is the fraction of calls that it happens to, from 0 to 1.
public struct TransportFaults: Hashable, Sendable {
    /// The request never arrives, and the caller is told after `patience`.
    public var loseRequests = 0.0
    /// The server does what it was asked, and the answer never arrives.
    public var loseAnswers = 0.0
    /// The server is asked twice, one after the other, and the second answer counts.
    public var repeatRequests = 0.0
    /// The connection is refused at once.
    public var refuse = 0.0
    /// The server says that it is busy, with this time to wait.
    public var throttle = 0.0
    public var retryAfter: Duration? = .seconds(5)
    /// How long each call takes before it reaches the server.
    public var delay = Duration.zero...(.zero)
    /// How long it takes until a caller gives up on what was lost.
    public var patience = Duration.seconds(30)
    /// A hint never arrives.
    public var loseHints = 0.0

    public init() {}

    /// Everything passes.
    public static let none = TransportFaults()

    /// A fifth of everything goes wrong.
    public static let poor: TransportFaults = {
        var faults = TransportFaults()
        faults.loseRequests = 0.2
        faults.loseAnswers = 0.2
        faults.repeatRequests = 0.2
        faults.loseHints = 0.2
        faults.delay = .milliseconds(50)...(.seconds(2))
        return faults
    }()
}
