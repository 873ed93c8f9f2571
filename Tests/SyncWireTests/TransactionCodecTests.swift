import SyncModel
import SyncWire
import Testing

@Suite struct TransactionCodecTests {
    @Test func `a transaction is unchanged after encoding and decoding`() throws {
        let bytes = try TransactionCodec.encode(Samples.transaction)
        #expect(try TransactionCodec.decode(bytes) == Samples.transaction)
        #expect(try TransactionCodec.encode(TransactionCodec.decode(bytes)) == bytes, "the form is canonical")
    }

    @Test func `the canonical form of a transaction does not change`() throws {
        let transaction = Transaction(
            space: .default,
            mutations: [
                Mutation(
                    collection: "users", record: Samples.user, time: Samples.time,
                    intent: .create(["score": .real(1), "username": .text("ann")])),
                Mutation(
                    collection: "users", record: Samples.user, time: Samples.time, intent: .delete(seen: Version(4))),
            ])
        let expected =
            #"{"space":"default","mutations":[{"collection":"users","record":"01935a1b-2c3d-7000-8000-000000000001","#
            + #""time":"1763728464000.3","create":{"score":1.0,"username":"ann"}},{"collection":"users","#
            + #""record":"01935a1b-2c3d-7000-8000-000000000001","time":"1763728464000.3","delete":{"seen":4}}]}"#
        #expect(String(decoding: try TransactionCodec.encode(transaction), as: UTF8.self) == expected)
        let hash = try PayloadHash(of: transaction)
        #expect(hash == PayloadHash(ofCanonicalBytes: Array(expected.utf8)))
        #expect(hash.rawValue.count == 64)
    }

    @Test func `the hash is SHA-256 in lower-case hexadecimal`() {
        #expect(
            PayloadHash(ofCanonicalBytes: Array("abc".utf8)).rawValue
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func `a transaction is decoded from keys in any order and with white space`() throws {
        let text = """
            { "mutations" : [ { "delete" : { "seen" : 4 }, "time" : "1.0",
              "record" : "01935A1B-2C3D-7000-8000-000000000001", "collection" : "users" } ], "space" : "default" }
            """
        let plain = Transaction(
            space: .default,
            mutations: [
                Mutation(
                    collection: "users", record: Samples.user,
                    time: HybridTime(wall: WallTime(milliseconds: 1)), intent: .delete(seen: Version(4)))
            ])
        #expect(try TransactionCodec.decode(Array(text.utf8)) == plain)
    }

    static let head = #"{"space":"default","mutations":[{"collection":"users","#
    static let identity = #""record":"01935a1b-2c3d-7000-8000-000000000001","time":"1.0","#

    /// Texts that are no transaction, each with a part of the error. Where the text is about a member, that part begins
    /// with its path.
    static let bad: [(String, String)] = [
        (#"{"mutations":[]}"#, #""space" is missing"#),
        (#"{"space":"default"}"#, #""mutations" is missing"#),
        (#"{"space":"Default","mutations":[]}"#, "expected a name"),
        (#"{"space":"default","mutations":[],"owner":1}"#, #"unknown key "owner""#),
        (head + identity + #""delete":{"seen":4},"seq":1}]}"#, #"unknown key "seq""#),
        (head + identity + #""delete":{"seen":-1}}]}"#, "the version is -1; expected 0 to 9007199254740991"),
        (head + identity + #""delete":{"seen":1.0}}]}"#, "without fraction"),
        (head + identity + #""delete":{"seen":1},"create":{}}]}"#, "one of create, update and delete"),
        (head + identity + #""create":{"a":1,"a":2}}]}"#, #"key "a" occurs twice"#),
        (head + identity + #""create":{"drop table":1}}]}"#, "is not a valid name"),
        (head + identity + #""create":{"a":[1]}}]}"#, "an array value must be written"),
        (head + identity + #""create":{"a":{}}}]}"#, "expected"),
        (head + identity + #""create":{"a":{"$ref":"x"}}}]}"#, "expected an identifier"),
        (head + identity + #""create":{"a":{"$json":1,"$ref":2}}}]}"#, "expected one key"),
        (head + identity + #""create":{"a":9223372036854775808}}]}"#, "beyond 64 bits"),
        (head + identity + #""create":{"a":{"$json":{"x":1,"x":1}}}}]}"#, #"key "x" occurs twice"#),
        (head + identity + #""update":[{"field":"a","value":1,"before":1}]}]}"#, #""seen" is missing"#),
        (
            head + identity
                + #""update":[{"field":"a","value":1,"before":1,"seen":0},{"field":"a","value":2,"before":1,"seen":0}]}]}"#,
            "field a is edited twice"
        ),
        (
            head + identity + #""create":{"# + (0...1_024).map { #""f\#($0)":0"# }.joined(separator: ",") + "}}]}",
            "at most 1024 fields of one record"
        ),
        (head + #""record":"0193","time":"1.0","delete":{"seen":4}}]}"#, "expected an identifier"),
        (head + #""record":"01935a1b-2c3d-7000-8000-000000000001","time":"1","create":{}}]}"#, "expected a time"),
        (head + #""record":"01935a1b-2c3d-7000-8000-000000000001","time":"01.0","create":{}}]}"#, "expected a time"),
        (head + #""record":"01935a1b-2c3d-7000-8000-000000000001","time":"1.65536","create":{}}]}"#, "expected a time"),
        (head + #""time":"281474976710656.0"}]}"#, "expected a time"),
        (head + identity.dropLast() + "}]}", "one of create, update and delete is missing"),
    ]

    @Test(arguments: bad.indices)
    func `an invalid transaction is refused with the location and the expected form`(index: Int) {
        let (text, words) = Self.bad[index]
        let error = #expect(throws: WireError.self) { try TransactionCodec.decode(Array(text.utf8)) }
        #expect(error?.code == .malformed)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        (String(repeating: "k", count: 100_000), "unknown key \"" + String(repeating: "k", count: 64)),
        (#"\u001B[31m"#, "unknown key \"?[31m\""),
    ])
    func `an unknown key is truncated and escaped in an error message`(key: String, words: String) {
        let error = #expect(throws: WireError.self) {
            try TransactionCodec.decode(Array(#"{"\#(key)":{"x":1}}"#.utf8))
        }
        let message = error?.message ?? ""
        #expect(message.utf8.count < 1_000)
        #expect(message.contains(words) && !message.contains("\u{1B}"), "\(message)")
    }

    @Test func `a transaction with too many mutations is refused during decoding`() {
        let one = Self.identity + #""delete":{"seen":4}}"#
        let many = Array(repeating: #"{"collection":"users","# + one, count: 1_001).joined(separator: ",")
        let error = #expect(throws: WireError.self) {
            try TransactionCodec.decode(Array((#"{"space":"default","mutations":["# + many + "]}").utf8))
        }
        #expect(error?.message.contains("mutations[1000]") == true, "\(error?.message ?? "")")
    }

    @Test func `a value that cannot be encoded is refused by the encoder`() {
        let values: [FieldValue] = [
            .real(.nan), .real(.infinity), .json(""), .json("{"), .json("1},{"), .json(#"{"a":1,"a":1}"#),
            .json(String(repeating: "[", count: 33) + String(repeating: "]", count: 33)),
        ]
        for value in values {
            let error = #expect(throws: WireError.self, "\(value)") { try PatchCodec.encode(["a": value]) }
            #expect(error?.code == .unencodable)
        }
    }

    @Test func `JSON that is nested too deeply is refused with its collection and field`() throws {
        let deep = String(repeating: "[", count: 33) + String(repeating: "]", count: 33)
        let words = "users.settings: the JSON is nested too deeply: at most 32 levels are allowed"
        let (collection, time) = (CollectionName("users"), HybridTime(rawValue: 1))
        let edit = FieldEdit(field: "settings", value: .json(deep), before: .null, seen: .zero)
        for intent in [Mutation.Intent.create(["settings": .json(deep)]), .update([edit])] {
            let mutation = Mutation(collection: collection, record: Samples.user, time: time, intent: intent)
            let error = #expect(throws: WireError.self) {
                try TransactionCodec.encode(Transaction(space: .default, mutations: [mutation]))
            }
            #expect(error?.message == words)
        }
        let change = RecordChange(collection: collection, id: Samples.user, effect: .updated(["settings": .json(deep)]))
        #expect(#expect(throws: WireError.self) { try ChangesCodec.encode([change]) }?.message == words)
        for intent in [
            #""create":{"settings":{"$json":\#(deep)}}}"#,
            #""update":[{"field":"settings","value":{"$json":\#(deep)},"before":null,"seen":4}]}"#,
        ] {
            let text = #"{"space":"default","mutations":[{"collection":"users","# + Self.identity + intent + "]}"
            let error = #expect(throws: WireError.self) { try TransactionCodec.decode(Array(text.utf8)) }
            #expect(error?.message.hasSuffix(words) == true, "\(error?.message ?? "")")
        }
    }

    @Test func `every field value is unchanged after encoding and decoding`() throws {
        let values: [FieldValue] = [
            .null, .boolean(false), .integer(.max), .real(0.1), .real(-0.0), .real(1e300), .text(""), .text("\0"),
            .text("cafe\u{301}"), .reference(Samples.user), .json("1"), .json(" [ 1 ] ".trimmed), .json("\"\\u0041\""),
            .json(String(repeating: "[", count: 32) + String(repeating: "]", count: 32)),
        ]
        for value in values {
            let patch: Patch = ["a": value]
            #expect(try PatchCodec.decode(PatchCodec.encode(patch)) == patch)
        }
        #expect(try PatchCodec.decode(PatchCodec.encode(Samples.patch)) == Samples.patch)
    }
}

extension String {
    fileprivate var trimmed: String { String(dropFirst().dropLast()) }
}
