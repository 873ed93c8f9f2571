/// The machine's continuous clock, which accepts a wait of any length.
///
/// `ContinuousClock` ends the process if a wait, in seconds, is close to the range of `Int64`. Applications use such
/// values for "no limit". This clock cuts every wait to a century.
struct LiveClock: Clock {
    typealias Instant = ContinuousClock.Instant

    private let clock = ContinuousClock()

    var now: Instant { clock.now }
    var minimumResolution: Duration { clock.minimumResolution }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await clock.sleep(until: min(deadline, now.advanced(by: Self.longestWait)), tolerance: tolerance)
    }

    private static let longestWait = Duration.seconds(100 * 365 * 86_400)
}
