import SyncCore
import SyncJSON
import SyncModel
import SyncProgram
import TestRings
import Testing

@testable import syncctl

@Suite(.ring(.unit)) struct TerminalColumnsTests {
    @Test func `the width of text is counted in terminal columns`() {
        #expect(TerminalText.columns("abc") == 3)
        #expect(TerminalText.columns("北京") == 4)
        #expect(TerminalText.columns("e\u{301}") == 1)
        #expect(TerminalText.columns("😀🚀\u{1F6FC}") == 6)
    }

    @Test func `long text is truncated to its columns with an ellipsis`() {
        #expect(TerminalText.truncated("abcdef", to: 6) == "abcdef")
        #expect(TerminalText.truncated("abcdefg", to: 6) == "abcde…")
        #expect(TerminalText.columns(TerminalText.truncated("北京北京北京", to: 6)) <= 6)
    }
}

@Suite(.ring(.unit)) struct ClockComparisonTests {
    @Test(arguments: [
        (0, "this device and the server agree on the time"),
        (-60_000, "this device and the server agree on the time"),
        (60_001, "the clock of this device is 1 min 0 s ahead of that of the server"),
        (-7_260_000, "the clock of this device is 2 h 1 min behind that of the server"),
        (268_793_000_000, "the clock of this device is 3111 days 0 h ahead of that of the server"),
    ])
    func `the difference of two clocks is described in words`(lead: Int64, words: String) {
        #expect(ClockComparison(lead: lead).words == words)
        let server = WallTime(milliseconds: 1_800_000_000_000)
        #expect(
            ClockComparison(device: WallTime(milliseconds: 1_800_000_000_000 + lead), server: server)
                == ClockComparison(lead: lead))
    }
}

@Suite(.ring(.unit)) struct StoreExitStatusTests {
    @Test func `a write that a limit refuses is a failed command, and a full disk is a failure of the machine`() {
        for code in [StoreError.Code.outboxFull, .journalFull, .databaseFull] {
            #expect(CommandError(StoreError(code, "full")).status == .failed, "\(code)")
        }
        for code in [StoreError.Code.diskFull, .busy, .inputOutput] {
            #expect(CommandError(StoreError(code, "failed")).status == .machine, "\(code)")
        }
    }
}

@Suite(.ring(.unit)) struct RecordDigestTests {
    private let schema = ModelSchema(collection: "user", fields: [.text("username"), .integer("age")])

    private func digest(_ name: String, uid: Int64 = 1, version: Int64 = 1, age: FieldValue = .null) -> String {
        var digest = RecordDigest(of: schema)
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        digest.add(Record(id: id, uid: UID(uid), version: Version(version), values: [.text(name), age]))
        return digest.text
    }

    @Test func `a record digest depends on the values and the uid, but not on the version`() {
        #expect(digest("a") == digest("a", version: 9))
        #expect(Set([digest("a"), digest("b"), digest("a", uid: 2), digest("a", age: .integer(0))]).count == 4)
        #expect(digest("caf\u{E9}") != digest("cafe\u{301}"))
        #expect(digest("a").count == 64)
    }

    @Test func `a record digest does not depend on the order of the fields in the model`() {
        let id = RecordID(bits: Identifier128(high: 1, low: 2))
        var other = RecordDigest(of: ModelSchema(collection: "user", fields: schema.fields.reversed()))
        other.add(Record(id: id, uid: UID(1), version: Version(1), values: [.integer(7), .text("a")]))
        #expect(other.text == digest("a", age: .integer(7)))
    }

    @Test func `a record digest depends on each character of a JSON value`() {
        let schema = ModelSchema(collection: "profile", fields: [.json("address")])
        let digests = ["[1, 2]", "[1,\n2]", "[1,2]"].map { json in
            var digest = RecordDigest(of: schema)
            let id = RecordID(bits: Identifier128(high: 1, low: 2))
            digest.add(Record(id: id, uid: UID(1), version: Version(1), values: [.json(json)]))
            return digest.text
        }
        #expect(Set(digests).count == 3)
    }
}

@Suite(.ring(.unit)) struct JSONLineTests {
    @Test func `a JSON value with line breaks is printed on one line`() {
        var line = JSONLine()
        line.set("value", .json("[1,\n{\"type\":\"user\"}\r\n, \"a\\nb\"]"))
        #expect(line.text == #"{"value":[1, {"type":"user"}  , "a\nb"]}"#)
    }

    @Test(arguments: [
        "{\"a\":\t1}", "\t[\t]\t", "{\"a\":\r\n\t\"b\\tc\"}", "{bad", "\"a\tb\"", "\"\u{1}\"", "", "\"\\ud800\"", "1 2",
        "\"\u{2028}\u{7F}\u{202E}\"", "{\"a\":1,\"a\":2}", "\"]}\\n{[\"", "1e999", "nul",
    ])
    func `any stored text of a JSON field is printed as valid JSON on one line`(stored: String) throws {
        var line = JSONLine()
        line.set("value", .json(stored))
        line.set("text", .text(stored + "\u{2028}\u{85}\u{1B}\u{7F}\n\t\u{0}"))
        let printed = TerminalText(json: line.text).rendered
        let value = try JSONValue(Array(printed.utf8))
        #expect(value["value"] == (try? JSONValue(Array(stored.utf8))) ?? .string(stored))
        #expect(value["text"] == .string(stored + "\u{2028}\u{85}\u{1B}\u{7F}\n\t\u{0}"))
        #expect(printed.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F && $0.value != 0x2028 })
    }
}
