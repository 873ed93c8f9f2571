import Foundation
import SyncJSON
import SyncModel
import SyncWire
import TestRings
import Testing

@Suite struct GoldenTests {
    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Schemas/wire")

    static func example(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: "examples/\(name).json")))
    }

    @Test(arguments: GoldenCase.all)
    func `a message is encoded as in its golden file`(golden: GoldenCase) throws {
        let written = try golden.encode()
        let expected = Self.withoutSpace(try Self.example(golden.name))
        #expect(String(decoding: written, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
    }

    @Test(arguments: GoldenCase.all)
    func `a golden file is unchanged after decoding and encoding`(golden: GoldenCase) throws {
        let file = try Self.example(golden.name)
        #expect(try golden.recode(file) == Self.withoutSpace(file))
    }

    @Test(arguments: GoldenCase.all)
    func `a golden file conforms to the OpenAPI document`(golden: GoldenCase) throws {
        let validator = try Self.openAPI()
        let problems = validator.problems(with: try JSONValue(Self.example(golden.name)), schema: golden.schema)
        #expect(problems.isEmpty, "\(problems)")
    }

    @Test(arguments: GoldenCase.all)
    func `a truncated message is refused`(golden: GoldenCase) throws {
        let whole = try golden.encode()
        for end in stride(from: 0, to: whole.count, by: 7) {
            #expect(throws: WireError.self) { try golden.recode(Array(whole[..<end])) }
        }
    }

    @Test(.ring(.test), arguments: GoldenCase.all)
    func `a message with any byte changed never traps`(golden: GoldenCase) throws {
        let whole = try golden.encode()
        for position in stride(from: 0, to: whole.count, by: TestRing.sample(2, 1)) {
            // In a narrow run, the two kinds of change alternate.
            let flips: [UInt8] = TestRing.sample([position % 4 == 0 ? 0x01 : 0x80], [0x01, 0x80])
            for flip in flips {
                var changed = whole
                changed[position] ^= flip
                do { _ = try golden.recode(changed) } catch { #expect(error is WireError) }
            }
        }
    }

    @Test(arguments: [
        (#"{"type": "integer", "minimum": 1}"#, "0"), (#"{"type": "integer", "maximum": 1}"#, "2"),
        (#"{"type": "string", "pattern": "^a$"}"#, #""b""#), (#"{"type": "string", "maxLength": 1}"#, #""ab""#),
        (#"{"type": "array", "maxItems": 1, "items": {"type": "null"}}"#, "[null, null]"),
        (
            #"{"type": "object", "maxProperties": 1, "additionalProperties": {"type": "null"}}"#,
            #"{"a": null, "b": null}"#
        ),
        (
            ##"""
            {"type": "object", "propertyNames": {"type": "string", "pattern": "^a"},
            "additionalProperties": {"type": "null"}}
            """##, #"{"b": null}"#
        ),
        (#"{"type": "object", "properties": {}, "additionalProperties": false}"#, #"{"b": null}"#),
        (#"{"type": "object", "required": ["a"]}"#, "{}"), (#"{"const": 1}"#, "2"),
        (#"{"oneOf": [{"type": "number"}, {"type": "integer"}]}"#, "1"), (#"{"minLength": 1}"#, #""""#),
    ])
    func `the validator of golden files reports each kind of violation`(schema: String, value: String) throws {
        let document = try JSONValue(Array(#"{"components": {"schemas": {"a": \#(schema)}}}"#.utf8))
        let problems = SchemaValidator(document: document).problems(with: try JSONValue(Array(value.utf8)), schema: "a")
        #expect(problems.count == 1, "\(problems)")
    }

    @Test func `each golden file has a case, and each case has a file`() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Self.folder.appending(path: "examples").path(percentEncoded: false))
        #expect(files.sorted() == GoldenCase.all.map { $0.name + ".json" }.sorted())
    }

    @Test func `every reference in the OpenAPI document can be resolved`() throws {
        let document = try Self.openAPI()
        #expect(document.danglingReferences.isEmpty, "\(document.danglingReferences)")
        #expect(
            document.paths.sorted()
                == (ServerCall.allCases.map(\.path) + [WirePath.hints, WirePath.openAPI, "/healthz", "/readyz"])
                .sorted())
    }

    @Test func `the OpenAPI document lists each error code of the server`() throws {
        let document = try Self.openAPI()
        #expect(
            document.examples(of: "ErrorCode").sorted() == ErrorBody.Code.known.map(\.rawValue).sorted())
    }

    private static func openAPI() throws -> SchemaValidator {
        SchemaValidator(
            document: try JSONValue(Array(Data(contentsOf: folder.appending(path: "openapi.json")))))
    }

    /// Returns JSON text without the white space between tokens.
    static func withoutSpace(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if !isInString, [0x20, 0x0A, 0x0D, 0x09].contains(byte) { continue }
            result.append(byte)
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            }
        }
        return result
    }
}
