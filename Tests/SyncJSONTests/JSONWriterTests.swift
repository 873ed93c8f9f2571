import SyncJSON
import Testing

@Suite struct JSONWriterTests {
    @Test func `values are written without white space in the given order`() {
        var writer = JSONWriter()
        writer.beginObject()
        writer.key("a")
        writer.beginArray()
        writer.null()
        writer.boolean(true)
        writer.integer(-12)
        writer.real(2)
        writer.string("x")
        writer.endArray()
        writer.key("b\"")
        writer.verbatim(Array(#"{"z":1}"#.utf8))
        writer.key("c")
        writer.beginObject()
        writer.endObject()
        writer.endObject()
        #expect(writer.text == #"{"a":[null,true,-12,2.0,"x"],"b\"":{"z":1},"c":{}}"#)
    }

    @Test func `integers are written exactly`() throws {
        for value in [Int64.min, -1, 0, 9, 10, 99, 1 << 53 + 1, .max] {
            var writer = JSONWriter()
            writer.integer(value)
            #expect(writer.text == String(value))
        }
        var writer = JSONWriter()
        writer.integer(UInt64.max)
        #expect(writer.text == "18446744073709551615")
    }

    @Test func `reals are read back as reals with the same bits`() throws {
        var random = SplitMix(state: 3)
        let values =
            [0, -0.0, 1, 0.1, 1e16, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 1.0 / 3]
            + (0..<2_000).map { _ in Double(bitPattern: random.next()) }.filter(\.isFinite)
        for value in values {
            var writer = JSONWriter()
            writer.real(value)
            guard case .real(let back) = try JSONValue(writer.bytes) else {
                Issue.record("\(writer.text) is not a valid real")
                continue
            }
            #expect(back.bitPattern == value.bitPattern, "\(writer.text)")
        }
    }

    @Test func `any text is read back unchanged`() throws {
        let all = (0..<0x500).compactMap(UnicodeScalar.init).map(Character.init)
        for text in [String(all), "", "\0\u{1F}\u{7F}\"\\/", "é😀\u{2028}", "cafe\u{301}"] {
            var writer = JSONWriter()
            writer.string(text)
            guard case .string(let back) = try JSONValue(writer.bytes) else {
                Issue.record("no string")
                continue
            }
            #expect(back.utf8.elementsEqual(text.utf8))
        }
    }
}
