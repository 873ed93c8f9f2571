package import SyncCore
package import SyncModel

/// The contents of a flight recorder: turns, in the order in which they happened, and places to start from.
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

/// Says what a file is, in its first line.
package struct RecordingHeader: Hashable, Sendable {
    /// The version of the format that this build writes, and the newest that it reads.
    package static let format = 3

    package var exportedAt: WallTime
    /// The program that wrote the file.
    package var build: String
    /// The version of the local database's schema.
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

/// A place to start from: the whole session, and the policy that it follows from here on.
package struct RecordedStart: Hashable, Sendable {
    package var at: Duration
    package var wall: WallTime
    /// Whether this is the state that the turns before it lead to. False at the start of a run, and behind a gap.
    package var continues: Bool
    package var policy: SyncPolicy
    /// Redacted.
    package var session: SessionMachine
}

/// One turn of the session.
package struct RecordedTurn: Hashable, Sendable {
    package var at: Duration
    /// Redacted: the session does the same with it as with what happened.
    package var event: SyncEvent
    /// How many records or transactions the event carried; they themselves are not recorded.
    package var carried: Int
    package var draws: [UInt64]
    /// The redacted actions in words; two actions have the same words when they are the same.
    package var actions: [String]
}
