/// The faults that a `FaultyTransport` injects.
///
/// Each rate is the probability of the fault for one call, or for one hint, from 0 to 1. Of several faults of one call,
/// only the first takes effect, in the order `refuse`, `throttle`, `loseRequests`, `loseResponses`, `repeatRequests`.
public struct TransportFaults: Hashable, Sendable {
    /// The request never reaches the server, and the call times out after `timeout`.
    public var loseRequests = 0.0
    /// The server handles the request, and the response never arrives.
    public var loseResponses = 0.0
    /// The request is sent twice, one after the other, and the second response is returned.
    public var repeatRequests = 0.0
    /// The connection is refused at once.
    public var refuse = 0.0
    /// The server responds that it is busy, and gives `retryAfter` as the time to wait.
    public var throttle = 0.0
    /// The pause that a throttled response asks for; nil asks for none.
    public var retryAfter: Duration? = .seconds(5)
    /// The time that each call takes to reach the server.
    public var delay = Duration.zero...(.zero)
    /// The time until a call whose request or response was lost times out.
    public var timeout = Duration.seconds(30)
    /// A hint never arrives.
    public var loseHints = 0.0

    /// Creates faults with all rates at 0. Set the rates of those to inject.
    public init() {}

    /// No faults.
    public static let none = TransportFaults()

    /// A poor network: each kind of loss or repeat has the rate 0.2, and each call is delayed.
    public static let poor: TransportFaults = {
        var faults = TransportFaults()
        faults.loseRequests = 0.2
        faults.loseResponses = 0.2
        faults.repeatRequests = 0.2
        faults.loseHints = 0.2
        faults.delay = .milliseconds(50)...(.seconds(2))
        return faults
    }()
}
