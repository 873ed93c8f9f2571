import CoreMetrics
import TestRings
import Testing

@testable import SyncServerHTTP

@Suite(.ring(.unit)) struct PrometheusRegistryTests {
    @Test func `metrics are written with their description, kind, and labels`() async {
        let registry = PrometheusRegistry()
        registry.describe("requests_total", .counter, "Requests by route.\nAll of them.")
        let counter = Counter(label: "requests_total", dimensions: [("route", "/v1/\"a\\b\n\"")], factory: registry)
        counter.increment(by: 3)
        Counter(label: "requests_total", dimensions: [("route", "/v1/\"a\\b\n\"")], factory: registry).increment()
        Counter(label: "requests_total", factory: registry).increment(by: 1 << 60)
        FloatingPointCounter(label: "seconds_total", factory: registry).increment(by: 0.25)
        Meter(label: "2 rooms.free-now", factory: registry).set(-7.5)
        Recorder(label: "sizes", dimensions: [("kind", "all")], factory: registry).record(10)
        Recorder(label: "sizes", dimensions: [("kind", "all")], factory: registry).record(5)
        Gauge(label: "level", factory: registry).record(2)
        registry.read("reading", .gauge, "A value that is read.") { 1e300 }
        registry.read("nothing", .gauge, "A value that is missing.") { nil }
        #expect(
            await registry.text() == """
                # TYPE _2_rooms_free_now gauge
                _2_rooms_free_now -7.5
                # TYPE level gauge
                level 2
                # HELP requests_total Requests by route.\\nAll of them.
                # TYPE requests_total counter
                requests_total 1152921504606846976
                requests_total{route="/v1/\\"a\\\\b\\n\\""} 4
                # TYPE seconds_total counter
                seconds_total 0.25
                # TYPE sizes summary
                sizes_sum{kind="all"} 15
                sizes_count{kind="all"} 2
                # HELP reading A value that is read.
                # TYPE reading gauge
                reading 1e+300

                """)
    }

    /// One `Character` may consist of a carriage return and a line feed, or of a quote and an accent.
    @Test func `every line feed, quote, and backslash in a label is escaped, and a label's name has no colon`() async {
        let registry = PrometheusRegistry()
        Counter(label: "a:b", dimensions: [("c:d", "x\r\n\"\u{301}\\\u{301}")], factory: registry).increment()
        let written = "a:b{c_d=\"x\r\\n\\\"\u{301}\\\\\u{301}\"} 1\n"
        #expect(await registry.text() == "# TYPE a:b counter\n" + written)
    }

    @Test func `durations are counted by size, each in all buckets above it`() async {
        let registry = PrometheusRegistry()
        let timer = Timer(label: "duration_seconds", dimensions: [("route", "a")], factory: registry)
        for milliseconds in [1, 3, 3, 700, 60_000] { timer.recordMilliseconds(milliseconds) }
        let text = await registry.text()
        let lines = text.split(separator: "\n")
        #expect(lines.first == "# TYPE duration_seconds histogram")
        let expected = [
            "0.001": 1, "0.0025": 1, "0.005": 3, "0.01": 3, "0.5": 3, "1": 4, "2.5": 4, "10": 4, "+Inf": 5,
        ]
        for (bound, count) in expected {
            #expect(lines.contains("duration_seconds_bucket{route=\"a\",le=\"\(bound)\"} \(count)"), "\(text)")
        }
        #expect(
            lines.suffix(2) == ["duration_seconds_sum{route=\"a\"} 60.707", "duration_seconds_count{route=\"a\"} 5"])
    }

    @Test func `the number of series is bounded, and dropped ones are counted`() async {
        let registry = PrometheusRegistry(maximumSeries: 3)
        for number in 0..<5 { Counter(label: "c", dimensions: [("n", "\(number)")], factory: registry).increment() }
        // A known series stays usable, and a destroyed one makes room.
        let known = Counter(label: "c", dimensions: [("n", "1")], factory: registry)
        known.increment()
        var lines = await registry.text().split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("c{") } == ["c{n=\"0\"} 1", "c{n=\"1\"} 2", "c{n=\"2\"} 1"])
        #expect(lines.last == "metrics_series_dropped_total 2")
        known.destroy()
        Counter(label: "c", dimensions: [("n", "9")], factory: registry).increment()
        lines = await registry.text().split(separator: "\n")
        #expect(lines.filter { $0.hasPrefix("c{") } == ["c{n=\"0\"} 1", "c{n=\"2\"} 1", "c{n=\"9\"} 1"])
    }

    @Test func `a metric keeps its first kind`() async {
        let registry = PrometheusRegistry()
        Counter(label: "n", factory: registry).increment()
        Meter(label: "n", factory: registry).set(9)
        #expect(await registry.text().hasPrefix("# TYPE n counter\nn 1\n"))
    }
}
