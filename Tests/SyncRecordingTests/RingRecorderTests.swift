import Logging
import SyncConcurrency
import SyncCore
import SyncModel
import TestRings
import Testing

@testable import SyncRecording

/// Tests when the recorder starts a segment, when it saves, and how it handles failures.
@Suite struct RingRecorderTests {
    private func replay(_ segments: [RecordingSegment]) -> [Replay.Difference] {
        let reader = RingReader(segments)
        #expect(reader.problems == [])
        var replay = Replay()
        return reader.entries.compactMap { replay.follow($0).difference }
    }

    @Test(.ring(.test), arguments: 0..<8)
    func `a replay from any start in the ring has the same actions`(seed: Int) throws {
        var session = RandomSession(seed: UInt64(seed))
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 40, salt: session.salt, logger: .silent)
        for _ in 0..<200 { recorder.record(session.step()) }
        recorder.save()
        let segments = try ring.recording()
        #expect(segments.count == 20)
        for first in stride(from: 0, to: segments.count, by: TestRing.sample(8, 1)) {
            #expect(replay(Array(segments[first...])) == [])
        }
    }

    @Test func `turns are saved in batches`() {
        var session = RandomSession(seed: 1)
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 10_000, salt: session.salt, logger: .silent)
        #expect(!recorder.hasUnsaved)
        for _ in 0..<30 { recorder.record(session.step()) }
        #expect(ring.appends == [])
        #expect(recorder.hasUnsaved)
        recorder.save()
        #expect(ring.appends == [31])
        recorder.save()
        #expect(ring.appends == [31])
        for _ in 0..<64 { recorder.record(session.step()) }
        #expect(ring.appends == [31, 64])
    }

    @Test func `a failing ring switches the recorder off and is logged once`() {
        var session = RandomSession(seed: 2)
        let ring = MemoryRing()
        let log = LogMessages()
        let logger = Logger(label: "test", factory: { _ in log.handler })
        var recorder = RingRecorder(store: ring, turns: 100, salt: session.salt, logger: logger)
        recorder.record(session.step())
        ring.fail(StoreError(.diskFull, "no space is left"))
        recorder.save()
        for _ in 0..<500 { recorder.record(session.step()) }
        #expect(!recorder.hasUnsaved)
        recorder.save()
        #expect(ring.appends == [2])
        #expect(log.all.count == 1)
        #expect(log.all.first?.contains("flight recorder is off") == true)
    }

    @Test func `a busy database is retried, and a gap starts a new segment`() throws {
        var session = RandomSession(seed: 3)
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 100_000, salt: session.salt, logger: .silent)
        for _ in 0..<10 { recorder.record(session.step()) }
        ring.fail(StoreError(.busy, "another program writes"))
        recorder.save()
        #expect(recorder.hasUnsaved)
        ring.fail(nil)
        recorder.save()
        #expect(try ring.recordingSummary().turns == 10)

        ring.fail(StoreError(.busy, "another program writes"))
        for _ in 0..<1_500 { recorder.record(session.step()) }
        ring.fail(nil)
        recorder.save()
        let summary = try ring.recordingSummary()
        #expect(summary.segments == 2)
        #expect(summary.turns > 10 && summary.turns < 1_510, "some were dropped, and not all: \(summary)")
        #expect(replay(try ring.recording()) == [])
        let starts = RingReader(try ring.recording()).entries.compactMap { entry in
            if case .start(let start) = entry { start.continues } else { nil }
        }
        #expect(starts == [false, false])
    }

    @Test func `an unreadable line loses only the rest of its segment`() throws {
        var session = RandomSession(seed: 4)
        let ring = MemoryRing()
        var recorder = RingRecorder(store: ring, turns: 40, salt: session.salt, logger: .silent)
        for _ in 0..<30 { recorder.record(session.step()) }
        recorder.save()
        var segments = try ring.recording()
        #expect(segments.count == 3)
        var turns = segments[1].turns
        turns[4] = "torn"
        segments[1] = RecordingSegment(start: segments[1].start, turns: turns)
        let reader = RingReader(segments)
        #expect(reader.problems.map(\.line) == [17])
        #expect(reader.entries.count == 11 + 5 + 11)
        var replay = Replay()
        #expect(reader.entries.compactMap { replay.follow($0).difference } == [])
    }
}

/// Collects the messages of a logger.
final class LogMessages: Sendable {
    private let lines = Guarded([String]())

    var all: [String] { lines.withLock { $0 } }

    var handler: any LogHandler { Handler(lines: self) }

    fileprivate func add(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}

private struct Handler: LogHandler {
    let lines: LogMessages
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        lines.add(event.message.description)
    }
}
