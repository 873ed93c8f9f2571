import SyncTransportHTTP
import TestRings
import Testing

@Suite(.ring(.unit)) struct StreamPaceTests {
    @Test func `a stream may send 4 MiB in each window of 10 seconds, and not more`() throws {
        var pace = StreamPace(now: .seconds(100))
        for _ in 0..<64 { try pace.count(64 * 1_024, now: .seconds(109)) }
        try pace.count(4 * 1_024 * 1_024, now: .seconds(110))
        #expect(throws: StreamPace.Exceeded.self) { try pace.count(1, now: .milliseconds(119_999)) }
    }
}
