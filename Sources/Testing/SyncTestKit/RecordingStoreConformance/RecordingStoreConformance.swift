public import SyncCore

/// The rules that every ring buffer of the flight recorder must satisfy, as plain checks that any test framework can
/// run.
public struct RecordingStoreConformance {
    /// Makes a new empty ring for each call.
    private let makeStore: () throws -> any RecordingStore

    /// Creates the suite for one kind of ring.
    ///
    /// - Parameter makeStore: makes a new empty ring for each call.
    public init(makeStore: @escaping () throws -> any RecordingStore) {
        self.makeStore = makeStore
    }

    /// The names of all rules.
    public static var rules: [String] { checks.map(\.rule) }

    /// Runs one rule against a new ring.
    ///
    /// - Throws: `ConformanceViolation` when the ring breaks the rule, or an unexpected error from the ring.
    public func run(_ rule: String) throws {
        guard let check = Self.checks.first(where: { $0.rule == rule }) else {
            throw ConformanceViolation(rule: rule, detail: "there is no such rule")
        }
        try check.body(Ring(rule: rule, store: try makeStore()))
    }

    private struct Check: Sendable {
        let rule: String
        let body: @Sendable (Ring) throws -> Void

        init(_ rule: String, _ body: @escaping @Sendable (Ring) throws -> Void) {
            self.rule = rule
            self.body = body
        }
    }

    /// The ring under test.
    private struct Ring {
        let rule: String
        let store: any RecordingStore

        func append(_ parts: [RecordingPart], turns: Int = 20, bytes: Int = 1_000_000) throws {
            try store.append(parts, keeping: RecordingLimits(turns: turns, bytes: bytes))
        }

        /// Returns a start followed by the given number of turns.
        func segment(_ name: String, _ turns: Int) -> [RecordingPart] {
            [.start("start \(name)")] + (0..<turns).map { .turn("\(name) \($0)") }
        }

        func expect(holds expected: [RecordingSegment]) throws {
            let found = try store.recording()
            try expect(found == expected, "the ring holds \(found), expected \(expected)")
            let summary = try store.recordingSummary()
            let lines = expected.flatMap { [$0.start] + $0.turns }
            let counts = RecordingSummary(
                segments: expected.count, turns: lines.count - expected.count,
                bytes: lines.reduce(0) { $0 + $1.utf8.count })
            try expect(summary == counts, "the summary is \(summary), expected \(counts)")
        }

        func expect(_ condition: Bool, _ detail: @autoclosure () -> String) throws {
            guard condition else { throw ConformanceViolation(rule: rule, detail: detail()) }
        }
    }

    private static let checks: [Check] = [
        Check("a new ring is empty") { ring in try ring.expect(holds: []) },
        Check("appended turns are read back in order, even in parts") { ring in
            try ring.append(ring.segment("a", 2))
            try ring.append([.turn("a 2")])
            try ring.append([.turn("a 3")] + ring.segment("b", 1))
            try ring.expect(holds: [
                RecordingSegment(start: "start a", turns: ["a 0", "a 1", "a 2", "a 3"]),
                RecordingSegment(start: "start b", turns: ["b 0"]),
            ])
        },
        Check("the oldest segments go, whole") { ring in
            for number in 0..<6 {
                try ring.append(ring.segment("\(number)", 5))
                let turns = try ring.store.recordingSummary().turns
                try ring.expect(turns <= 20, "\(turns) turns are kept; expected 20 at most")
            }
            let starts = try ring.store.recording().map(\.start)
            try ring.expect(
                starts == ["start 2", "start 3", "start 4", "start 5"], "the ring holds the segments \(starts)")
            let counts = try ring.store.recording().map(\.turns.count)
            try ring.expect(counts == [5, 5, 5, 5], "a segment is torn: \(counts) turns")
        },
        Check("the newest segment stays, whatever it holds") { ring in
            try ring.append(ring.segment("a", 5))
            try ring.append(ring.segment("long", 30))
            let counts = try ring.store.recording().map(\.turns.count)
            try ring.expect(counts == [30], "the ring holds \(counts) turns, expected the newest 30")
            try ring.append(ring.segment("next", 1))
            try ring.expect(holds: [RecordingSegment(start: "start next", turns: ["next 0"])])
        },
        Check("bytes are bounded as turns are") { ring in
            let line = String(repeating: "x", count: 1_000)
            for _ in 0..<20 {
                try ring.append([.start(line), .turn(line)], turns: 1_000, bytes: 10_000)
                let bytes = try ring.store.recordingSummary().bytes
                try ring.expect(bytes <= 10_000, "\(bytes) bytes are kept; expected 10,000 at most")
            }
            let segments = try ring.store.recording().count
            try ring.expect(segments == 5, "\(segments) segments of 2,000 bytes are kept, expected 5")
        },
        Check("a ring that was emptied takes no turns before the next start") { ring in
            try ring.append(ring.segment("a", 3))
            try ring.store.clearRecording()
            try ring.expect(holds: [])
            try ring.append([.turn("a 3")])
            try ring.expect(holds: [])
            try ring.append([.turn("a 4")] + ring.segment("b", 1))
            try ring.expect(holds: [RecordingSegment(start: "start b", turns: ["b 0"])])
        },
    ]
}
