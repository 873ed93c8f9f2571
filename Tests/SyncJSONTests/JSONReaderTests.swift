import SyncJSON
import TestRings
import Testing

@Suite struct JSONReaderTests {
    static let good: [(String, JSONValue)] = [
        ("null", .null), (" true ", .boolean(true)), ("false\n", .boolean(false)),
        ("0", .integer(0)), ("-0", .integer(0)), ("-1", .integer(-1)),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9223372036854775808", .real(9_223_372_036_854_775_808)),
        ("1.0", .real(1)), ("-0.0", .real(-0.0)), ("1e3", .real(1_000)), ("2.5E-1", .real(0.25)),
        (#""""#, .string("")), (#""a""#, .string("a")), (#""12345678\"""#, .string("12345678\"")),
        (#""\u00e9\ud83d\ude00\n\/""#, .string("é😀\n/")), (#""é€😀""#, .string("é€😀")),
        ("[]", .array([])), ("[1, [2]]", .array([.integer(1), .array([.integer(2)])])),
        ("{}", .object([])),
        (
            #"{"a":1,"b":{"a":2}}"#,
            .object([
                .init(key: "a", value: .integer(1)),
                .init(key: "b", value: .object([.init(key: "a", value: .integer(2))])),
            ])
        ),
    ]

    @Test(arguments: good.indices)
    func `valid JSON is read as the value that it represents`(index: Int) throws {
        let (text, expected) = Self.good[index]
        #expect(try JSONValue(Array(text.utf8)) == expected)
    }

    static let bad: [(text: String, at: Int, words: String)] = [
        ("", 0, "expected a value, found the end of the text"),
        ("tru", 0, "expected 'true'"),
        ("1 2", 2, "expected the end of the text"),
        ("01", 0, "begins with 0"),
        ("-", 1, "expected a digit"),
        ("1.", 2, "expected a digit"),
        ("1e", 2, "expected a digit"),
        ("1e999", 0, "too large"),
        ("-1.5e-400", 0, "too small"),
        ("+1", 0, "expected a value"),
        ("NaN", 0, "expected a value"),
        ("[1,]", 3, "expected a value"),
        ("[1 2]", 3, "expected ',' or ']'"),
        (#"{"a":1,}"#, 7, "expected a key in double quotes"),
        (#"{"a" 1}"#, 5, "expected ':'"),
        (#"{a:1}"#, 1, "expected a key in double quotes"),
        (#"{"a":1"#, 6, "expected ',' or '}'"),
        (#"{"a":1,"a":2}"#, 7, #"key "a" occurs twice"#),
        (#"{"a":1,"\u0061":2}"#, 7, #"key "a" occurs twice"#),
        (#"[{"b":{"c":0,"c":0}}]"#, 13, #"key "c" occurs twice"#),
        (#""\ud800""#, 1, "without the second"),
        (#""\ud800\u0041""#, 1, "without the second"),
        (#""\udc00""#, 1, "without the first"),
        (#""\x""#, 2, "expected an escape"),
        (#""\u12g4""#, 5, "expected four hexadecimal digits"),
        ("\"a\nb\"", 2, "control character"),
        (#""abc"#, 4, "expected"),
        ("// x", 0, "expected a value"),
        ("\u{FEFF}1", 0, "expected a value"),
    ]

    @Test(arguments: bad.indices)
    func `invalid JSON is refused with the offset of the error`(index: Int) {
        let (text, offset, words) = Self.bad[index]
        let error = #expect(throws: JSONError.self) { try JSONValue(Array(text.utf8)) }
        #expect(error?.offset == offset, "\(text): \(error?.description ?? "")")
        #expect(error?.description.contains(words) == true, "\(text): \(error?.description ?? "")")
        #expect(error?.kind == .syntax)
        let skipped = #expect(throws: JSONError.self) {
            try JSONReader.read(Array(text.utf8)) { (reader) throws(JSONError) in try reader.skip() }
        }
        #expect(skipped == error, "skipping is as strict as reading")
    }

    @Test func `ill-formed UTF-8 is refused in keys and values`() {
        let forms: [[UInt8]] = [
            [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x9F, 0x80], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0x80, 0x80],
            [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xE2, 0x82], [0xE2, 0x82, 0x41],
        ]
        for form in forms {
            let value = [UInt8(ascii: "\"")] + form + [UInt8(ascii: "\"")]
            #expect(throws: JSONError.self, "\(form)") { try JSONValue(value) }
            #expect(throws: JSONError.self, "\(form)") { try JSONValue(Array("{".utf8) + value + Array(":1}".utf8)) }
        }
    }

    @Test func `64 levels of nesting are accepted and 65 are refused`() throws {
        let deep = { (count: Int) in
            Array(String(repeating: "[", count: count).utf8) + Array(String(repeating: "]", count: count).utf8)
        }
        _ = try JSONValue(deep(64))
        let error = #expect(throws: JSONError.self) { try JSONValue(deep(65)) }
        #expect(error?.problem == "arrays and objects are nested more than 64 deep")
        #expect(throws: JSONError.self) { try JSONValue(deep(100_000)) }
    }

    @Test func `a duplicate key among many keys is refused`() throws {
        let members = { (last: Int) in
            Array(("{" + (Array(0..<5_000) + [last]).map { "\"k\($0)\":0" }.joined(separator: ",") + "}").utf8)
        }
        _ = try JSONValue(members(5_000))
        #expect(throws: JSONError.self) { try JSONValue(members(4_999)) }
        #expect(throws: JSONError.self) { try JSONValue(members(3)) }
    }

    @Test func `keys are compared by bytes and not by Unicode equivalence`() throws {
        let text = "{\"caf\u{E9}\":1,\"cafe\u{301}\":2}"
        guard case .object(let members) = try JSONValue(Array(text.utf8)) else {
            Issue.record("no object")
            return
        }
        #expect(members.count == 2)
    }

    @Test func `an error contains the path in the JSON tree`() {
        let text = #"{"page":{"commits":[{"version":1},{"version":2,"changes":[0,1,x]}]}}"#
        let error = #expect(throws: JSONError.self) { try JSONValue(Array(text.utf8)) }
        #expect(error?.path == "page.commits[1].changes[2]")
    }

    @Test func `every truncation of a valid text is refused`() {
        let text = Array(#"{"a":[1,-2.5e3,"\u00e9\ud83d\ude00",true,false,null,{"b":"€"}]}"#.utf8)
        for end in text.indices {
            #expect(throws: JSONError.self) { try JSONValue(Array(text[..<end])) }
        }
    }

    @Test func `a value can be read verbatim`() throws {
        let bytes = Array(#"{"a":  {"x" : 1.50, "y":"\u0041"} ,"b":2}"#.utf8)
        let kept = try JSONReader.read(bytes) { (reader) throws(JSONError) in
            var kept: [String] = []
            var members = try reader.beginObject()
            while try reader.nextKey(&members) != nil { kept.append(try reader.verbatim()) }
            return kept
        }
        #expect(kept == [#"{"x" : 1.50, "y":"\u0041"}"#, "2"])
    }

    @Test func `a number with a fraction or an exponent is not an integer`() {
        for text in ["1.0", "1e2", "9223372036854775808", "\"1\""] {
            #expect(throws: JSONError.self) {
                try JSONReader.read(Array(text.utf8)) { (reader) throws(JSONError) in try reader.integer() }
            }
        }
    }

    @Test(.ring(.test)) func `random bytes never trap`() {
        var random = SplitMix(state: 7)
        let alphabet = Array(#"{}[]",:\u0041tfnrue-+.e0123456789 é"#.utf8) + [0x00, 0xFF, 0xC3, 0xED, 0xF0]
        var accepted = 0
        for _ in 0..<20_000 {
            let bytes = (0..<Int(random.next() % 24)).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
            if (try? JSONValue(bytes)) != nil { accepted += 1 }
        }
        #expect(accepted > 0)
    }
}

struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
