import SyncJSON
import SyncModel

/// The codec of one entry as one line of JSON, used in the ring and in files.
package enum EntryCodec {
    package static func line(_ entry: RecordingEntry) -> String {
        var writer = JSONWriter(reserving: 512)
        writer.object { writer in
            switch entry {
            case .start(let start):
                writer.member("start") {
                    $0.member("at", start.at)
                    $0.member("wall", start.wall.milliseconds)
                    $0.member("continues", start.continues)
                    $0.member("policy") { $0.policy(start.policy) }
                    $0.member("session") { $0.machine(start.session) }
                }
            case .turn(let turn):
                writer.member("turn") {
                    $0.member("at", turn.at)
                    $0.member("event") { $0.event(turn.event) }
                    if turn.carried > 0 { $0.member("carried", turn.carried) }
                    if !turn.draws.isEmpty { $0.member("draws", turn.draws) { $0.string(Hexadecimal.text(of: $1)) } }
                    $0.member("actions", turn.actions) { $0.string($1) }
                }
            }
        }
        return writer.text
    }

    /// Decodes one line. Keys that this build does not know are ignored.
    ///
    /// - Throws: an error that says what was found in the line and what was expected.
    package static func entry(_ line: String) throws(RecordingError) -> RecordingEntry {
        try entry(try node(Array(line.utf8)))
    }

    static func node(_ line: [UInt8]) throws(RecordingError) -> RecordingNode {
        guard line.count <= RecordingBounds.lineBytes else {
            throw RecordingError("the line has \(line.count) bytes; expected at most \(RecordingBounds.lineBytes)")
        }
        do throws(JSONError) {
            return RecordingNode(try JSONValue(line))
        } catch {
            throw RecordingError("not JSON: \(error)")
        }
    }

    static func entry(_ node: RecordingNode) throws(RecordingError) -> RecordingEntry {
        if let start = node.optional("start") {
            return .start(
                RecordedStart(
                    at: try start.member("at").duration(), wall: try start.member("wall").wallTime(),
                    continues: try start.member("continues").boolean(), policy: try start.member("policy").policy(),
                    session: try start.member("session").machine()))
        }
        guard let turn = node.optional("turn") else { throw node.wrong("a \"start\" or a \"turn\"") }
        let carried = try turn.optional("carried")?.count()
        let draws = try turn.optional("draws").map { node throws(RecordingError) in
            try node.list(of: RecordingNode.draw)
        }
        return .turn(
            RecordedTurn(
                at: try turn.member("at").duration(), event: try turn.member("event").event(), carried: carried ?? 0,
                draws: draws ?? [],
                actions: try turn.member("actions").list { node throws(RecordingError) in
                    try node.text(RecordingBounds.lineBytes)
                }))
    }
}
