import Logging
import SyncConcurrency
import SyncCore

/// An in-memory recording store that can fail on demand. It ignores its limits, and so drops nothing.
final class MemoryRing: RecordingStore {
    private struct State: Sendable {
        var segments: [RecordingSegment] = []
        var everything: [String] = []
        var appends: [Int] = []
        var failure: StoreError?
    }

    private let state = Guarded(State())

    var everything: [String] { state.withLock { $0.everything } }

    /// The sizes of all batches, including those whose append failed.
    var appends: [Int] { state.withLock { $0.appends } }

    func fail(_ failure: StoreError?) {
        state.withLock { $0.failure = failure }
    }

    func append(_ parts: [RecordingPart], keeping limits: RecordingLimits) throws(StoreError) {
        try state.withLock { state throws(StoreError) in
            state.appends.append(parts.count)
            if let failure = state.failure { throw failure }
            for part in parts {
                state.everything.append(part.line)
                switch part {
                case .start(let line): state.segments.append(RecordingSegment(start: line, turns: []))
                case .turn(let line):
                    guard let last = state.segments.popLast() else { continue }
                    state.segments.append(RecordingSegment(start: last.start, turns: last.turns + [line]))
                }
            }
        }
    }

    func recording() throws(StoreError) -> [RecordingSegment] { state.withLock { $0.segments } }

    func recordingSummary() throws(StoreError) -> RecordingSummary {
        state.withLock { state in
            RecordingSummary(
                segments: state.segments.count, turns: state.segments.reduce(0) { $0 + $1.turns.count }, bytes: 0)
        }
    }

    func clearRecording() throws(StoreError) {
        state.withLock { $0.segments = [] }
    }
}

extension Logger {
    static let silent = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
}
