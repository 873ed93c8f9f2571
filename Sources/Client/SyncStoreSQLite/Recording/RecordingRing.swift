import SQLiteDatabase
import SyncCore

/// The ring of the flight recorder: its tables, inside one transaction.
struct RecordingRing {
    private let connection: Connection
    /// The position of the next turn; nil when there is no segment.
    private var end: (segment: Int64, position: Int64)?

    init(_ connection: Connection) {
        self.connection = connection
    }

    // MARK: Writing

    mutating func append(_ parts: [RecordingPart]) throws {
        end = try newest()
        for part in parts {
            switch part {
            case .start(let line): end = (try begin(line), 0)
            case .turn(let line):
                guard let place = end else { continue }
                try insert(line, place)
                end = (place.segment, place.position + 1)
            }
        }
    }

    private func newest() throws -> (segment: Int64, position: Int64)? {
        let select = try connection.statement(
            "SELECT segment, turns FROM sync_recording_segment ORDER BY segment DESC LIMIT 1")
        defer { select.reset() }
        return try select.step() ? (select.integer(0), select.integer(1)) : nil
    }

    private func begin(_ line: String) throws -> Int64 {
        let insert = try connection.statement(
            "INSERT INTO sync_recording_segment (start, bytes) VALUES (?1, ?2) RETURNING segment")
        insert.bind(1, line)
        insert.bind(2, Int64(line.utf8.count))
        defer { insert.reset() }
        guard try insert.step() else {
            throw StoreError(.corrupt, "a segment of the recording got no number")
        }
        return insert.integer(0)
    }

    private func insert(_ line: String, _ place: (segment: Int64, position: Int64)) throws {
        let insert = try connection.statement(
            "INSERT INTO sync_recording_turn (segment, position, line) VALUES (?1, ?2, ?3)")
        insert.bind(1, place.segment)
        insert.bind(2, place.position)
        insert.bind(3, line)
        try insert.run()
        let count = try connection.statement(
            "UPDATE sync_recording_segment SET turns = turns + 1, bytes = bytes + ?2 WHERE segment = ?1")
        count.bind(1, place.segment)
        count.bind(2, Int64(line.utf8.count))
        try count.run()
    }

    func shrink(to limits: RecordingLimits) throws {
        var rest = try summary()
        while rest.segments > 1, rest.turns > limits.turns || rest.bytes > limits.bytes {
            guard let oldest = try oldest() else { return }
            try remove(oldest.segment)
            rest.segments -= 1
            rest.turns -= oldest.turns
            rest.bytes -= oldest.bytes
        }
    }

    private func oldest() throws -> (segment: Int64, turns: Int, bytes: Int)? {
        let select = try connection.statement(
            "SELECT segment, turns, bytes FROM sync_recording_segment ORDER BY segment LIMIT 1")
        defer { select.reset() }
        return try select.step() ? (select.integer(0), Int(select.integer(1)), Int(select.integer(2))) : nil
    }

    private func remove(_ segment: Int64) throws {
        let turns = try connection.statement("DELETE FROM sync_recording_turn WHERE segment = ?1")
        turns.bind(1, segment)
        try turns.run()
        let start = try connection.statement("DELETE FROM sync_recording_segment WHERE segment = ?1")
        start.bind(1, segment)
        try start.run()
    }

    func clear() throws {
        try connection.execute("DELETE FROM sync_recording_turn; DELETE FROM sync_recording_segment;")
    }

    // MARK: Reading

    func summary() throws -> RecordingSummary {
        let select = try connection.statement(
            "SELECT count(*), coalesce(sum(turns), 0), coalesce(sum(bytes), 0) FROM sync_recording_segment")
        defer { select.reset() }
        guard try select.step() else { return RecordingSummary() }
        return RecordingSummary(
            segments: Int(select.integer(0)), turns: Int(select.integer(1)), bytes: Int(select.integer(2)))
    }

    func segments() throws -> [RecordingSegment] {
        var starts: [(segment: Int64, line: String)] = []
        let select = try connection.statement("SELECT segment, start FROM sync_recording_segment ORDER BY segment")
        defer { select.reset() }
        while try select.step() { starts.append((select.integer(0), select.text(1))) }
        var segments: [RecordingSegment] = []
        for start in starts {
            segments.append(RecordingSegment(start: start.line, turns: try turns(of: start.segment)))
        }
        return segments
    }

    private func turns(of segment: Int64) throws -> [String] {
        let select = try connection.statement(
            "SELECT line FROM sync_recording_turn WHERE segment = ?1 ORDER BY position")
        select.bind(1, segment)
        defer { select.reset() }
        var lines: [String] = []
        while try select.step() { lines.append(select.text(0)) }
        return lines
    }
}
