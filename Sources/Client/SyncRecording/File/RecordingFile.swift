import Crypto
import SyncJSON
import SyncModel

/// The file format of a recording: a header, the entries, and a closing line with the digest of the lines before it.
package enum RecordingFile {
    package static func bytes(_ recording: Recording) -> [UInt8] {
        var header = JSONWriter()
        header.object {
            $0.member("tombolo_recording", RecordingHeader.format)
            $0.member("exported_at", recording.header.exportedAt.milliseconds)
            $0.member("build", recording.header.build)
            $0.member("schema", recording.header.schema)
        }
        var bytes = header.bytes + [newline]
        for entry in recording.entries { bytes += Array(EntryCodec.line(entry).utf8) + [newline] }
        var end = JSONWriter()
        end.object {
            $0.member("end") {
                $0.member("turns", recording.turnCount)
                $0.member("sha256", digest(bytes[...]))
            }
        }
        return bytes + end.bytes + [newline]
    }

    /// Decodes a recording.
    ///
    /// - Throws: An error that names the line at fault and what was expected there.
    package static func recording(_ bytes: [UInt8]) throws(RecordingError) -> Recording {
        guard bytes.count <= RecordingBounds.fileBytes else {
            throw RecordingError(
                "the recording has \(bytes.count) bytes; expected at most \(RecordingBounds.fileBytes)")
        }
        var lines = bytes.split(separator: newline, omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard let first = lines.first else { throw RecordingError("the file is empty; expected a recording") }
        var recording = Recording(
            header: try at(1) { () throws(RecordingError) in try header(Array(first)) }, entries: [])
        for (index, line) in lines.enumerated().dropFirst() {
            let isEnd = try at(index + 1) { () throws(RecordingError) in
                let node = try EntryCodec.node(Array(line))
                if let end = node.optional("end") {
                    try check(end, recording, bytes[..<line.startIndex])
                    return true
                }
                let entry = try EntryCodec.entry(node)
                if index == 1, case .turn = entry { throw node.wrong("a \"start\" as the first entry") }
                recording.entries.append(entry)
                return false
            }
            guard isEnd else { continue }
            guard index == lines.count - 1 else {
                throw RecordingError(
                    .damaged, line: index + 2, "a line follows the closing line; expected the end of the file")
            }
            return recording
        }
        throw RecordingError(
            .damaged, line: lines.count + 1, "the file ends without its closing line: a part of it is missing")
    }

    private static let newline = UInt8(ascii: "\n")

    private static func at<Value>(
        _ line: Int, _ body: () throws(RecordingError) -> Value
    ) throws(RecordingError) -> Value {
        do throws(RecordingError) { return try body() } catch { throw error.at(line: line) }
    }

    private static func header(_ line: [UInt8]) throws(RecordingError) -> RecordingHeader {
        let node = try EntryCodec.node(line)
        guard let version = node.optional("tombolo_recording") else {
            throw RecordingError("this is not a recording; expected \"tombolo_recording\"")
        }
        let format = try version.integer(1...RecordingBounds.largestNumber)
        guard format <= RecordingHeader.format else {
            throw RecordingError(
                .newer, "a recording of format \(format), and this build reads formats up to \(RecordingHeader.format)")
        }
        return RecordingHeader(
            exportedAt: try node.member("exported_at").wallTime(), build: try node.member("build").text(),
            schema: try node.member("schema").count())
    }

    private static func check(
        _ end: RecordingNode, _ recording: Recording, _ before: ArraySlice<UInt8>
    ) throws(RecordingError) {
        let turns = try end.member("turns").count()
        guard try end.member("sha256").text() == digest(before) else {
            throw RecordingError(
                .damaged,
                "the lines before do not have the digest that is written here: the file was changed after its export")
        }
        guard turns == recording.turnCount else {
            throw RecordingError(.damaged, "expected \(turns) turns, found \(recording.turnCount)")
        }
    }

    private static func digest(_ bytes: ArraySlice<UInt8>) -> String {
        Hexadecimal.text(of: Array(SHA256.hash(data: bytes)))
    }
}
