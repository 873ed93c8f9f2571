package import SyncCore
package import SyncModel

/// The contents of a flight recorder: turns in the order in which they happened, and starting points.
package struct Recording: Hashable, Sendable {
    package var header: RecordingHeader
    package var entries: [RecordingEntry]

    package init(header: RecordingHeader, entries: [RecordingEntry]) {
        self.header = header
        self.entries = entries
    }

    package var turnCount: Int {
        entries.reduce(0) { if case .turn = $1 { $0 + 1 } else { $0 } }
    }
}

/// The first line of a recording file, which identifies the file.
package struct RecordingHeader: Hashable, Sendable {
    /// The format version that this build writes, and the newest one that it reads.
    package static let format = 3

    package var exportedAt: WallTime
    /// The program that wrote the file.
    package var build: String
    /// The schema version of the local database.
    package var schema: Int

    package init(exportedAt: WallTime, build: String, schema: Int) {
        self.exportedAt = exportedAt
        self.build = build
        self.schema = schema
    }
}

package enum RecordingEntry: Hashable, Sendable {
    case start(RecordedStart)
    case turn(RecordedTurn)
}

/// A starting point: the whole session, and the policy that it follows from here on.
package struct RecordedStart: Hashable, Sendable {
    /// Time on the engine's monotonic clock.
    package var at: Duration
    package var wall: WallTime
    /// Whether this is the state that the preceding turns lead to. False at the start of a run and after a gap.
    package var continues: Bool
    package var policy: SyncPolicy
    /// The redacted session.
    package var session: SessionMachine
}

/// One turn of the session.
package struct RecordedTurn: Hashable, Sendable {
    /// Time on the engine's monotonic clock.
    package var at: Duration
    /// The redacted event. The session handles it in the same way as the original event.
    package var event: SyncEvent
    /// Number of records or transactions that the event carried. Their contents are not recorded.
    package var carried: Int
    /// The random numbers that the session drew, in order.
    package var draws: [UInt64]
    /// The redacted actions as text: see `SyncAction.recordedText`.
    package var actions: [String]
}

extension RecordedTurn {
    /// The event as text in a replay.
    package var replayText: String {
        // The event no longer contains the records of its page.
        if case .server(.pullEnded(_, _, .success(.page))) = event { return "\(event), \(carried) records" }
        return event.description
    }
}
