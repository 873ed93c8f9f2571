package import Logging
package import SyncCore
import SyncModel

/// A flight recorder that writes to a ring in the local database.
///
/// Turns are redacted and encoded when they happen, and saved in batches. If the ring fails, the recorder logs one
/// message and stays off for the rest of the run; the sync is not affected.
package struct RingRecorder: FlightRecorder {
    private let store: any RecordingStore
    private let limits: RecordingLimits
    private let redaction: Redaction
    private let logger: Logger
    private var unsaved: [RecordingPart] = []
    private var unsavedBytes = 0
    private var segment: Segment?
    private var isOff = false

    /// The size of the entries since the last start.
    private struct Segment {
        var turns = 0
        var bytes = 0
    }

    /// Creates a recorder.
    ///
    /// - Parameters:
    ///   - turns: The number of turns that the ring holds, at least 1.
    ///   - salt: Random bits that protect the names in the recording.
    package init(store: any RecordingStore, turns: Int, salt: (UInt64, UInt64), logger: Logger) {
        self.store = store
        limits = RecordingLimits(turns: max(1, turns), bytes: RecordingBounds.ringBytes)
        redaction = Redaction(salt: salt)
        self.logger = logger
    }

    package var hasUnsaved: Bool { !unsaved.isEmpty }

    package mutating func record(_ turn: SessionTurn) {
        guard !isOff else { return }
        if needsStart(before: turn.event) {
            let start = RecordedStart(
                at: turn.at, wall: turn.wall, continues: segment != nil, policy: turn.policy,
                session: redaction.session(turn.before))
            segment = Segment()
            add(.start(EntryCodec.line(.start(start))))
        }
        let recorded = RecordedTurn(
            at: turn.at, event: redaction.event(turn.event), carried: turn.event.carried, draws: turn.draws,
            actions: turn.actions.map { redaction.action($0).recordedText })
        add(.turn(EntryCodec.line(.turn(recorded))))
        segment?.turns += 1
        if unsaved.count >= RecordingBounds.unsavedLines || unsavedBytes >= RecordingBounds.unsavedBytes { save() }
    }

    private func needsStart(before event: SyncEvent) -> Bool {
        guard let segment else { return true }
        return segment.turns >= max(1, limits.turns / RecordingBounds.segments)
            || segment.bytes >= limits.bytes / RecordingBounds.segments
    }

    private mutating func add(_ part: RecordingPart) {
        let bytes = part.line.utf8.count
        unsaved.append(part)
        unsavedBytes += bytes
        segment?.bytes += bytes
    }

    package mutating func save() {
        guard !unsaved.isEmpty else { return }
        do throws(StoreError) {
            try store.append(unsaved, keeping: limits)
            forget()
        } catch {
            guard error.code == .busy else { return switchOff(because: error) }
            // Another program is writing. The next save tries again.
            if unsaved.count >= RecordingBounds.heldLines || unsavedBytes >= RecordingBounds.heldBytes {
                forget()
                // The next entries do not continue the stored ones.
                segment = nil
            }
        }
    }

    private mutating func forget() {
        unsaved.removeAll(keepingCapacity: true)
        unsavedBytes = 0
    }

    private mutating func switchOff(because failure: StoreError) {
        isOff = true
        forget()
        logger.warning(
            "The flight recorder is off until the next start; the sync goes on without it.",
            metadata: ["code": "\(failure.code)", "reason": "\(failure)"])
    }
}
