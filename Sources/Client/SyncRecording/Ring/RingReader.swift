package import SyncCore
package import SyncModel

/// Decodes a ring into entries, for an export.
package struct RingReader {
    package private(set) var entries: [RecordingEntry] = []
    /// The errors of lines that cannot be read. Such a line and the rest of its segment are left out.
    package private(set) var problems: [RecordingError] = []

    /// Decodes every line, so that only data that this build understands can leave the device.
    package init(_ segments: [RecordingSegment]) {
        var line = 0
        var isWhole = true
        for segment in segments {
            line += 1
            let first = line
            line += segment.turns.count
            do throws(RecordingError) {
                guard case .start(var start) = try read(segment.start, first) else {
                    throw RecordingError(line: first, "expected a start, found a turn")
                }
                start.continues = start.continues && isWhole && !entries.isEmpty
                entries.append(.start(start))
                isWhole = false
                for (index, text) in segment.turns.enumerated() {
                    let number = first + 1 + index
                    guard case .turn(let turn) = try read(text, number) else {
                        throw RecordingError(line: number, "expected a turn, found a start")
                    }
                    entries.append(.turn(turn))
                }
                isWhole = true
            } catch {
                isWhole = false
                problems.append(error)
            }
        }
    }

    /// The wall-clock time of the oldest start that can be read; nil when there is none.
    package var firstStart: WallTime? {
        for case .start(let start) in entries { return start.wall }
        return nil
    }

    private func read(_ text: String, _ line: Int) throws(RecordingError) -> RecordingEntry {
        do throws(RecordingError) { return try EntryCodec.entry(text) } catch { throw error.at(line: line) }
    }
}
