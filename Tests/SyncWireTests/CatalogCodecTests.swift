import Foundation
import SyncJSON
import SyncModel
import SyncWire
import Testing

@Suite struct CatalogCodecTests {
    private static func schemas(_ path: String) throws -> [UInt8] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return Array(try Data(contentsOf: root.appending(path: "Schemas/catalog/\(path)")))
    }

    private static let rules = ["name", "url(https,http)"].map { FieldRule(name: $0) { _ in nil } }

    private static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "person",
            fields: [
                .text("name", required: true, bytes: 1...200, rule: rules[0]), .text("homepage", rule: rules[1]),
            ], deleteRule: .editWins),
        ModelSchema(
            collection: "todo",
            fields: [
                .text("title", required: true, bytes: 1...SchemaLimits.textBytes), .boolean("done", merge: .serverWins),
                .integer("priority"), .integer("due").holdingDates().indexed(),
                .real("estimate", merge: .clientWins), .json("labels", bytes: 0...4_096),
                .reference("owner", to: "person", required: true),
            ]),
        ModelSchema(collection: "empty", fields: []),
    ])

    private func decode(_ text: String) throws -> SchemaCatalog {
        try CatalogCodec.decode(Array(text.utf8)) { name in Self.rules.first { $0.name == name } }
    }

    /// Returns the text of the error that decoding a catalog with these models throws.
    private func problem(_ models: String) -> String {
        do {
            _ = try decode(#"{"format": 1, "models": [\#(models)]}"#)
            return "nothing was wrong"
        } catch {
            return "\(error)"
        }
    }

    private static let boundedCatalog = SchemaCatalog([
        ModelSchema(
            collection: "todo",
            fields: [
                .text("title").defaulting(to: .text("new")).indexed(),
                .boolean("done").defaulting(to: .boolean(false)),
                .integer("stars").bounded(by: .integer(0...5)).defaulting(to: .integer(3)),
                .real("effort").bounded(by: .real(0...0.1)).defaulting(to: .real(0)),
                .json("tags").defaulting(to: .json("[]")),
            ])
    ])

    @Test func `bounds, defaults, and indexes are unchanged after encoding and decoding`() throws {
        let bytes = try CatalogCodec.encode(Self.boundedCatalog)
        #expect(try CatalogCodec.decode(bytes) { _ in nil } == Self.boundedCatalog)
    }

    @Test(arguments: [
        (#""type":"integer","minimum":1"#, "a: expected a minimum and a maximum, or neither"),
        (#""type":"real","maximum":1"#, "a: expected a minimum and a maximum, or neither"),
        (#""type":"text","minimum":1,"maximum":2"#, "a: only integer and real fields have a minimum and a maximum"),
        (#""type":"integer","minimum":2,"maximum":1"#, "a: the minimum is greater than the maximum"),
        (#""type":"real","minimum":2,"maximum":1.5"#, "a: the minimum is greater than the maximum"),
        (
            #""type":"integer","minimum":0,"maximum":1.5"#,
            "a: the minimum and the maximum of an integer field are integers within 64 bits"
        ),
        (#""type":"integer","default":"x""#, "a: the default is not a valid value of this field"),
        (#""type":"integer","minimum":1,"maximum":2,"default":3"#, "a: the default is not a valid value of this field"),
    ])
    func `bounds that no value meets, and defaults of another type, are refused`(field: String, words: String) {
        let problem = problem(#"{"collection": "c", "fields": [{"name": "a", \#(field)}]}"#)
        #expect(problem.contains(words), "\(problem)")
    }

    /// A store keeps its models as text. If it could not read the text, it could not be opened again.
    @Test(
        arguments: [
            (.real("a").bounded(by: .real(0...(.infinity))), "c.a has the range 0.0 to inf; expected finite numbers"),
            (.integer("a").bounded(by: .real(0...1)), "c.a has the range 0.0 to 1.0; expected integers"),
            (
                .text("a").bounded(by: .integer(0...1)),
                "c.a is text and has a range; only integer and real fields have one"
            ),
            (
                .text("a", bytes: 0...2_000_000),
                "c.a has the length 0...2000000 bytes; expected a range within 0...1048576"
            ),
            (.json("a", bytes: -1...5), "c.a has the length -1...5 bytes; expected a range within 0...1048576"),
            (
                .text("a", rule: FieldRule(name: String(repeating: "r", count: 1_025)) { _ in nil }),
                "c.a has a rule whose name is longer than 1024 bytes"
            ),
            (
                .real("a").defaulting(to: .real(.infinity)),
                "the default breaks the field's own limits: c.a is not a finite number"
            ),
            (
                .integer("a").bounded(by: .integer(0...5)).defaulting(to: .integer(9)),
                "the default breaks the field's own limits: c.a is 9; expected 0 to 5"
            ),
            (.json("a").defaulting(to: .json("{")), "the default of c.a is not JSON"),
        ] as [(FieldSchema, String)])
    func `a field that the decoder would refuse is not encoded, and the error names it`(
        field: FieldSchema, message: String
    ) {
        let catalog = SchemaCatalog([ModelSchema(collection: "c", fields: [field])])
        let error = #expect(throws: WireError.self) { try CatalogCodec.encode(catalog) }
        #expect(error == WireError(.unencodable, message))
    }

    @Test func `the greatest length of a text, and a default of that length, are unchanged after decoding`() throws {
        let longest = SchemaLimits.longestTextBytes
        let catalog = SchemaCatalog([
            ModelSchema(
                collection: "c",
                fields: [
                    .text("a", bytes: 0...longest).defaulting(to: .text(String(repeating: "x", count: longest)))
                ])
        ])
        #expect(try CatalogCodec.decodeStored(try CatalogCodec.encode(catalog)) == catalog)
    }

    @Test func `what a later build has stored about a model is ignored`() throws {
        let text = #"""
            {"format": 1, "owner": "x", "models": [{"collection": "c", "color": [1], "fields": [
                {"name":"a","type":"text","shape":{"round":true}}]}]}
            """#
        let stored = try CatalogCodec.decodeStored(Array(text.utf8))
        #expect(stored == SchemaCatalog([ModelSchema(collection: "c", fields: [.text("a")])]))
        #expect(throws: WireError.self) { try CatalogCodec.decode(Array(text.utf8)) { _ in nil } }
    }

    @Test func `a stored field that is too long for a transaction is read, and a new one is refused`() throws {
        let field = #"{"name":"a","type":"text","maximumBytes":1048576}"#
        let text = #"{"format": 1, "models": [{"collection": "c", "fields": [\#(field)]}]}"#
        let stored = try CatalogCodec.decodeStored(Array(text.utf8))
        #expect(stored.models[0].fields[0].maximumBytes == SchemaLimits.transactionBytes)
        let error = #expect(throws: WireError.self) { try CatalogCodec.decode(Array(text.utf8)) { _ in nil } }
        #expect(error.map { "\($0)" }?.contains("the maximum is 1048576; expected 0 to 523776") == true, "\(error!)")
    }

    /// A record must fit into one page of a snapshot.
    @Test func `the maximum lengths of a model add up to a bound, and the error names the model and both numbers`()
        throws
    {
        func catalog(_ more: [FieldSchema]) -> SchemaCatalog {
            let longest = 0...SchemaLimits.longestTextBytes
            let texts = (1...7).map { FieldSchema.text(FieldName(rawValue: "a\($0)")!, bytes: longest) }
            let fields = texts + [.json("c", bytes: longest), .integer("n")]
            return SchemaCatalog([
                ModelSchema(collection: "empty", fields: []), ModelSchema(collection: "doc", fields: fields + more),
            ])
        }
        let rest = SchemaLimits.recordTextBytes - 8 * SchemaLimits.longestTextBytes
        let largest = catalog([.json("d", bytes: 0...rest)])
        let encoded = try CatalogCodec.encode(largest)
        #expect(try CatalogCodec.decode(encoded) { _ in nil } == largest)
        let text = String(decoding: encoded, as: UTF8.self)

        let larger = catalog([
            .json("d", bytes: 0...rest), .text("e", bytes: 0...1),
        ])
        let words =
            "the maximum lengths of the text and JSON fields of doc add up to 4194305 bytes; at most 4194304 are allowed"
        let error = #expect(throws: WireError.self) { try CatalogCodec.encode(larger) }
        #expect(error == WireError(.unencodable, words))
        let last = #"{"name":"d","type":"json","maximumBytes":\#(rest)}"#
        let longer = text.replacing(last, with: last + #", {"name": "e", "type": "text", "maximumBytes": 1}"#)
        let refusal = #expect(throws: WireError.self) { try CatalogCodec.decode(Array(longer.utf8)) { _ in nil } }
        #expect(refusal.map { "\($0)" }?.contains("models[1]: \(words)") == true, "\(String(describing: refusal))")
        // Otherwise, shorter limits could not be compared with the stored ones.
        #expect(try CatalogCodec.decodeStored(Array(longer.utf8)) == larger)
    }

    @Test func `a model may have as many fields of the default length as it may have fields`() throws {
        let fields = (0..<SchemaLimits.fields).map { FieldSchema.text(FieldName(rawValue: "f\($0)")!) }
        let catalog = SchemaCatalog([ModelSchema(collection: "c", fields: fields)])
        #expect(try CatalogCodec.decode(try CatalogCodec.encode(catalog)) { _ in nil } == catalog)
    }

    @Test func `a catalog is encoded as its golden example, which is decoded as the same catalog`() throws {
        let example = try Self.schemas("example.json")
        #expect(
            String(decoding: try CatalogCodec.encode(Self.catalog), as: UTF8.self)
                == String(decoding: example, as: UTF8.self))
        #expect(try decode(String(decoding: example, as: UTF8.self)) == Self.catalog)
    }

    @Test func `the schema beside the example names every key, and every word that a key takes`() throws {
        let schema = try JSONValue(try Self.schemas("catalog.schema.json"))
        func properties(_ value: JSONValue?) -> Set<String> { Self.keys(of: value?["properties"]) }

        var (top, model, field): (Set<String>, Set<String>, Set<String>) = ([], [], [])
        // These catalogs have a value for each key.
        for catalog in [Self.catalog, Self.boundedCatalog] {
            let encoded = try JSONValue(try CatalogCodec.encode(catalog))
            top.formUnion(Self.keys(of: encoded))
            for element in Self.elements(of: encoded["models"]) {
                model.formUnion(Self.keys(of: element))
                for element in Self.elements(of: element["fields"]) { field.formUnion(Self.keys(of: element)) }
            }
        }
        #expect(properties(schema).subtracting(["$schema"]) == top)
        #expect(properties(schema["$defs"]?["model"]) == model)
        #expect(properties(schema["$defs"]?["field"]) == field)

        func words(_ definition: String, _ key: String) -> [String] {
            Self.elements(of: schema["$defs"]?[definition]?["properties"]?[key]?["enum"]).compactMap {
                if case .string(let word) = $0 { word } else { nil }
            }
        }
        #expect(words("field", "type").sorted() == FieldType.allCases.map(\.rawValue).sorted())
        #expect(words("field", "merge").sorted() == MergeRule.allCases.map(\.rawValue).sorted())
        #expect(words("model", "onDelete").sorted() == DeleteRule.allCases.map(\.rawValue).sorted())
    }

    private static func keys(of value: JSONValue?) -> Set<String> {
        guard case .object(let members)? = value else { return [] }
        return Set(members.map(\.key))
    }

    private static func elements(of value: JSONValue?) -> [JSONValue] {
        guard case .array(let elements)? = value else { return [] }
        return elements
    }

    @Test(arguments: [
        (
            #"{"collection": "a", "feilds": []}"#,
            #"models[0]: unknown key "feilds"; expected one of collection, onDelete, fields, did you mean fields?"#
        ),
        (#"{"collection": "A", "fields": []}"#, "models[0].collection: expected a name"),
        (#"{"collection": "a"}"#, #""fields" is missing"#),
        (
            #"{"collection": "a", "fields": []}, {"collection": "a", "fields": []}"#,
            "models[1]: the collection a occurs twice"
        ),
        (
            #"{"collection": "a", "onDelete": "maybe", "fields": []}"#,
            "expected one of deleteWins, editWins, found 'maybe'"
        ),
        (#"{"collection": "a", "fields": [{"name": "b"}]}"#, #"models[0].fields[0]: b: "type" is missing"#),
        (#"{"collection": "a", "fields": [{"type": "text"}]}"#, #""name" is missing"#),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "date"}]}"#,
            "expected one of boolean, integer, real, text, reference, json"
        ),
        (#"{"collection": "a", "fields": [{"name": "id", "type": "text"}]}"#, "id is a reserved name"),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "text"}, {"name": "b", "type": "text"}]}"#,
            "fields[1]: the field b occurs twice"
        ),
        (#"{"collection": "a", "fields": [{"name": "b", "type": "reference"}]}"#, #"b: a reference needs a "target""#),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "reference", "target": "aa"}]}"#,
            "fields[0].target: there is no collection aa, did you mean a?"
        ),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "text", "target": "a"}]}"#,
            "only a reference has a target"
        ),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "text", "format": "date-time"}]}"#,
            "b: only an integer has the format date-time"
        ),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "integer", "format": "date"}]}"#,
            "fields[0].format: expected date-time, found 'date'"
        ),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "integer", "maximumBytes": 8}]}"#,
            "only text and json have a length"
        ),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "text", "minimumBytes": 9, "maximumBytes": 8}]}"#,
            "the minimum of 9 bytes is greater than the maximum of 8"
        ),
        (#"{"collection": "a", "fields": [{"name": "b", "type": "text", "maximumBytes": -1}]}"#, "the maximum is -1"),
        (#"{"collection": "a", "fields": [{"name": "b", "type": "text", "required": 1}]}"#, "expected true or false"),
        (
            #"{"collection": "a", "fields": [{"name": "b", "type": "text", "rule": "nmae"}]}"#,
            "fields[0].rule: this program has no rule 'nmae'"
        ),
    ])
    func `an invalid catalog is refused with the location and the expected form`(models: String, words: String) {
        #expect(problem(models).contains(words), "\(problem(models))")
    }

    @Test(arguments: ["", "[]", #"{"models": []}"#, #"{"format": 2, "models": []}"#, #"{"format": 1}"#])
    func `a file without a known format and models is refused`(text: String) {
        #expect(throws: WireError.self) { try decode(text) }
    }

    @Test func `a collection may have at most as many fields as the model allows`() throws {
        func fields(_ count: Int) -> String {
            (0..<count).map { #"{"name": "f\#($0)", "type": "real"}"# }.joined(separator: ",")
        }
        #expect(problem(#"{"collection": "a", "fields": [\#(fields(SchemaLimits.fields))]}"#) == "nothing was wrong")
        let words = problem(#"{"collection": "a", "fields": [\#(fields(SchemaLimits.fields + 1))]}"#)
        #expect(words.contains("more than 64 fields"), "\(words)")
    }

    @Test func `a stored catalog keeps the names of rules that this program does not have`() throws {
        let catalog = try CatalogCodec.decodeStored(try CatalogCodec.encode(Self.catalog))
        #expect(catalog == Self.catalog)
        #expect(catalog["person"]?.fields[0].rule?.problem("\u{7}") == nil)
    }
}
