import SyncCore
import SyncModel
import TestRings
import Testing

@testable import SyncRecording

/// Tests recording files: an export is read back, and a modified file is refused.
@Suite struct RecordingFileTests {
    private static func recording() -> Recording {
        Recording(
            header: RecordingHeader(
                exportedAt: WallTime(milliseconds: 1_700_000_000_000), build: "0.1.0", schema: 2),
            entries: ReplayTests.entries(turns: 70))
    }

    private func problem(_ bytes: [UInt8]) -> RecordingError? {
        do throws(RecordingError) {
            _ = try RecordingFile.recording(bytes)
            return nil
        } catch {
            return error
        }
    }

    private func lines(_ bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private func bytes(_ lines: [String]) -> [UInt8] { Array((lines.joined(separator: "\n") + "\n").utf8) }

    @Test func `a recording is read back from its file`() throws {
        let recording = Self.recording()
        #expect(recording.turnCount == 70)
        #expect(try RecordingFile.recording(RecordingFile.bytes(recording)) == recording)
    }

    @Test func `an invalid line is reported with its number`() {
        var lines = lines(RecordingFile.bytes(Self.recording()))
        lines[6] = #"{"turn":{"at":"1"}}"#
        #expect(problem(bytes(lines))?.description == #"line 7: turn: expected an object with the key "event""#)
        lines[6] = "nonsense"
        #expect(problem(bytes(lines))?.description.hasPrefix("line 7: not JSON: byte 0") == true)
        lines[6] = #"{"step":{}}"#
        #expect(problem(bytes(lines))?.description == #"line 7: the line: expected a "start" or a "turn""#)
        lines[6] = ""
        #expect(problem(bytes(lines))?.line == 7)
    }

    @Test func `a file that is not a recording and a newer recording are refused`() {
        #expect(problem([])?.description == "the file is empty; expected a recording")
        #expect(problem(Array("{}\n".utf8))?.description.contains("expected \"tombolo_recording\"") == true)
        #expect(problem(Array("\u{7F}ELF".utf8))?.description.hasPrefix("line 1: not JSON") == true)
        let newer = problem(Array(#"{"tombolo_recording":4,"shape":"unknown"}"#.utf8))
        #expect(newer?.code == .newer)
        #expect(newer?.description == "line 1: a recording of format 4, and this build reads formats up to 3")
        let turnFirst = #"{"turn":{"at":"1","event":{"is":"aborted"},"actions":[]}}"#
        let header = lines(RecordingFile.bytes(Self.recording()))[0]
        #expect(problem(bytes([header, turnFirst]))?.description.contains("as the first entry") == true)
    }

    @Test(.ring(.test)) func `a change anywhere in an exported file is detected`() throws {
        let good = lines(RecordingFile.bytes(Self.recording()))
        for index in 0..<(good.count - 1) {
            var lines = good
            let changed = lines[index].replacing("1", with: "2", maxReplacements: 1)
            guard changed != lines[index], index > 0 else { continue }
            lines[index] = changed
            let found = try #require(problem(bytes(lines)), "line \(index + 1)")
            #expect(found.code == .damaged || found.line == index + 1, "\(found)")
        }
        var lines = good
        lines.remove(at: 5)
        #expect(problem(bytes(lines))?.code == .damaged)
        lines = good
        lines.swapAt(5, 6)
        #expect(problem(bytes(lines))?.code == .damaged)
        #expect(problem(bytes(good + [good[5]]))?.code == .damaged)
    }

    @Test(.ring(.test)) func `a truncated file is detected`() {
        let whole = RecordingFile.bytes(Self.recording())
        for length in stride(from: 0, to: whole.count - 1, by: TestRing.sample(457, 37)) {
            #expect(problem(Array(whole[..<length])) != nil, "\(length) bytes")
        }
        #expect(problem(Array(whole.dropLast())) == nil, "only the last newline is missing")
        let cut = lines(whole).dropLast()
        #expect(problem(bytes(Array(cut)))?.description.contains("without its closing line") == true)
    }
}
