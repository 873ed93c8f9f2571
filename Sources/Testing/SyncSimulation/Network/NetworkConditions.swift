/// The behavior of a network. Each rate is the fraction of messages that it affects.
public struct NetworkConditions: Hashable, Sendable {
    /// The time that a message takes in each direction.
    public var delay: ClosedRange<Duration>
    /// The fraction of messages that take much longer, so that later messages overtake them.
    public var lateRate: Double
    /// The additional delay of such a message.
    public var lateness: ClosedRange<Duration>
    /// The connection is refused or breaks at once. The server receives nothing.
    public var refuseRate: Double
    /// The request is lost on its way, without an error.
    public var loseRequestRate: Double
    /// The server handles the request, and its response is lost.
    public var loseResponseRate: Double
    /// The server handles the request, and the connection breaks before the response is complete.
    public var breakResponseRate: Double
    /// The request arrives twice.
    public var duplicateRate: Double
    public var damageRequestRate: Double
    /// The response has a flipped bit, lacks its end or its whole body, or is replaced with a captive portal's page.
    public var damageResponseRate: Double
    /// A proxy responds that the server is busy. Half of these responses say how long to wait.
    public var busyRate: Double
    /// A hint never arrives.
    public var loseHintRate: Double
    /// The stream of hints ends when this hint is sent.
    public var endHintsRate: Double

    /// Every message arrives, with a short delay.
    public static let calm = NetworkConditions(
        delay: .milliseconds(5)...(.milliseconds(40)), lateRate: 0, lateness: .zero...(.zero), refuseRate: 0,
        loseRequestRate: 0, loseResponseRate: 0, breakResponseRate: 0, duplicateRate: 0, damageRequestRate: 0,
        damageResponseRate: 0, busyRate: 0, loseHintRate: 0, endHintsRate: 0)

    /// Returns random conditions. Each rate is 0 with a probability of one half, so that some worlds test a fault
    /// without the others.
    public static func drawn(_ random: inout SeededRandom) -> NetworkConditions {
        let slow = random.within(10...2_000)
        return NetworkConditions(
            delay: .milliseconds(1)...(.milliseconds(slow)), lateRate: random.rate(upTo: 0.2),
            lateness: .seconds(1)...(.seconds(random.within(2...7_200))), refuseRate: random.rate(upTo: 0.3),
            loseRequestRate: random.rate(upTo: 0.2), loseResponseRate: random.rate(upTo: 0.3),
            breakResponseRate: random.rate(upTo: 0.3),
            duplicateRate: random.rate(upTo: 0.3), damageRequestRate: random.rate(upTo: 0.1),
            damageResponseRate: random.rate(upTo: 0.1),
            busyRate: random.rate(upTo: 0.2), loseHintRate: random.rate(upTo: 0.5), endHintsRate: random.rate(upTo: 0.2)
        )
    }
}
