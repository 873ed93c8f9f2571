/// A limit on the rate of an event stream. Without it, a server that sends empty lines as fast as it can would keep a
/// device busy forever.
package struct StreamPace {
    /// The error for a stream that sends more than any useful stream.
    package struct Exceeded: Error {}

    private var windowStart: Duration
    private var bytes = 0

    /// - Parameter now: the time since the start of the machine, as for each call.
    package init(now: Duration) {
        windowStart = now
    }

    /// Counts bytes that have arrived. Throws when the window has too many.
    package mutating func count(_ more: Int, now: Duration) throws(Exceeded) {
        if now - windowStart >= HTTPTransportLimits.streamWindow {
            windowStart = now
            bytes = 0
        }
        bytes += more
        guard bytes <= HTTPTransportLimits.streamBytes else { throw Exceeded() }
    }
}
