import SyncModel
import Testing

@testable import RecordImport

/// A small catalog with exactly the fields that these tests use, and the formats that read into it.
enum ImportSamples {
    static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "user",
            fields: [
                .text("username", required: true, bytes: 1...32), .reference("avatar", to: "avatar"), .integer("age"),
                .boolean("is_new", required: true).defaulting(to: .boolean(true)),
                .integer("stars").defaulting(to: .integer(3)),
            ]),
        ModelSchema(
            collection: "avatar",
            fields: [.text("image_url"), .reference("author", to: "user", required: true)]),
        ModelSchema(
            collection: "profile",
            fields: [.reference("user", to: "user", required: true), .text("full_name"), .json("address")]),
    ])

    static func schema(_ name: CollectionName) -> ModelSchema {
        catalog[name] ?? ModelSchema(collection: name, fields: [])
    }

    static let mapping = AccountMapping(
        user: schema("user"), username: "username", userAvatar: "avatar", profile: schema("profile"),
        profileUser: "user", fullName: "full_name", avatar: schema("avatar"), image: "image_url", author: "author")

    static let jsonLines = JSONLinesImport(
        catalog: catalog, fallbackKeys: ["user": "username"])
}

@Suite struct AccountImportTests {
    private func read(_ text: String, pictures: Set<String> = []) -> ImportedRows {
        AccountImport(mapping: ImportSamples.mapping, pictureExists: { pictures.contains($0) }).read(Array(text.utf8))
    }

    @Test func `an account becomes a user, its comment becomes a profile, and its picture becomes an avatar`() {
        let rows = read(
            "ned:x:1000:1000:Ned Stark,Room 1,,:/home/ned:/bin/bash\nsys:x:3:3::/:/bin/false\n",
            pictures: ["/home/ned/.face"])
        #expect(rows.problems.isEmpty)
        #expect(rows.rows.map(\.collection) == ["user", "profile", "avatar", "user"])
        #expect(rows.rows.map(\.identity) == [.key("ned"), .key("ned"), .key("ned"), .key("sys")])
        #expect(rows.rows[0].patch["username"] == .text("ned"))
        #expect(rows.rows[0].links == [ImportRow.Link(field: "avatar", target: "avatar", key: "ned")])
        #expect(rows.rows[1].patch["full_name"] == .text("Ned Stark"))
        #expect(rows.rows[2].patch["image_url"] == .text("file:///home/ned/.face"))
        #expect(rows.rows[2].links == [ImportRow.Link(field: "author", target: "user", key: "ned")])
    }

    @Test func `the picture of the accounts service takes precedence, and its URL is percent-encoded`() {
        let rows = read(
            "ned b:x:1:1::/home/ned:/bin/sh\n",
            pictures: ["/home/ned/.face", "/var/lib/AccountsService/icons/ned b"])
        #expect(rows.rows.last?.patch["image_url"] == .text("file:///var/lib/AccountsService/icons/ned%20b"))
    }

    @Test func `a comment that begins with a combining mark is read`() {
        let rows = read("ned:x:1000:1000:\u{301}Ned,\u{301}Room 1:/home/ned:/bin/bash\n")
        #expect(rows.problems.isEmpty)
        #expect(rows.rows[1].patch["full_name"] == .text("\u{301}Ned"))
    }

    @Test func `a name with a slash is not used as a path`() {
        let rows = read(
            "../x:x:1:1::/home/x:/bin/sh\n", pictures: ["/var/lib/AccountsService/icons/../x", "/home/x/.face"])
        #expect(rows.rows.map(\.collection) == ["user"])
    }

    @Test(arguments: [
        "ned:x:1000:1000:Ned:/home/ned", "ned:x:1000:1000:Ned:/home/ned:/bin/sh:more", ":x:1:1::/:/bin/sh",
        "ned:x:-1:1::/:/bin/sh", "ned:x:1e3:1::/:/bin/sh", "ned:x:4294967296:1::/:/bin/sh", "+::::::", "-ned::::::",
        "x\u{0}y:x:1:1::/:/bin/sh", String(repeating: "n", count: 33) + ":x:1:1::/:/bin/sh", "nonsense",
    ])
    func `an invalid account is reported with its line, and the others are imported`(line: String) {
        let rows = read("a:x:1:1::/:/bin/sh\n\(line)\nb:x:2:2::/:/bin/sh\n")
        #expect(rows.problems.map(\.line) == [2])
        #expect(rows.rows.map(\.identity) == [.key("a"), .key("b")])
    }

    @Test func `a duplicate account name is imported once`() {
        let rows = read("a:x:1:1::/:/bin/sh\na:x:2:2::/:/bin/sh\n")
        #expect(rows.problems.map(\.line) == [2])
        #expect(rows.rows.count == 1)
    }
}

@Suite struct JSONLinesImportTests {
    private func read(_ text: String) -> ImportedRows { ImportSamples.jsonLines.read(Array(text.utf8)) }

    @Test func `JSON objects become rows with references by key or id`() {
        let id = "01890a5d-ac96-774b-bcce-b302099a8057"
        let rows = read(
            """
            {"type":"user","key":"ned","username":"Ned Stark","avatar":"@ned","age":35}

            {"type":"avatar","id":"\(id)","uid":7,"version":3,"pending":false,"space":"team","author":"@ned","image_url":null}
            {"type":"profile","key":"p","user":"\(id)","address":{"kind":"moon","crater":[1,2.5,true,null]}}
            """)
        #expect(rows.problems.isEmpty)
        #expect(rows.rows.map(\.line) == [1, 3, 4])
        #expect(rows.rows[0].patch["age"] == .integer(35))
        #expect(rows.rows[1].identity == RecordID(id).map { .record($0) })
        #expect(rows.rows[1].patch["image_url"] == .null)
        #expect(rows.rows.map(\.space) == [nil, "team", nil])
        #expect(rows.rows[2].patch["address"] == .json(#"{"kind":"moon","crater":[1,2.5,true,null]}"#))
    }

    /// Regression test: an import of an export rounded large numbers and rewrote escapes.
    @Test func `the value of a JSON field is its text, unchanged`() {
        let json = #"{ "id":12345678901234567890, "cents":1.10, "e":1E5, "text":"\u00e9" }"#
        let row = read(#"{"type":"profile","key":"p","address":\#(json)}"#).rows.first
        #expect(row?.patch["address"] == .json(json))
    }

    @Test func `a username is used as the key if there is none`() {
        #expect(read(#"{"type":"user","username":"Ned"}"#).rows.map(\.identity) == [.key("Ned")])
    }

    @Test(arguments: [
        (#"{"type":"user","username":"#, "not JSON"), (#"["user"]"#, "expected an object"),
        (#"{"username":"Ned"}"#, "\"type\" is missing"), (#"{"type":"dragon","key":"d"}"#, "no collection 'dragon'"),
        (#"{"type":"user","key":"n","name":"Ned"}"#, "no field 'name'"),
        (#"{"type":"user","key":"n","space":"A team"}"#, "'A team' is not the name of a space"),
        (#"{"type":"user","key":"n","space":7}"#, "space is not text"),
        (#"{"type":"user","username":"a","username":"b"}"#, "not JSON"),
        (#"{"type":"user","username":5}"#, "user.username: 5 is not of the type text; expected text"),
        (#"{"type":"user","username":""}"#, "is empty"),
        (
            #"{"type":"user","username":"Ned","age":1.5}"#,
            "user.age: 1.5 is not of the type integer; expected a whole number from -9223372036854775808 to 9223372036854775807, such as 42"
        ),
        (#"{"type":"user","username":"Ned","age":"35"}"#, #"user.age: "35" is not of the type integer"#),
        (#"{"type":"user","username":"Ned","avatar":"nobody"}"#, "is not a valid reference"),
        (#"{"type":"avatar","author":"@ned"}"#, "does not identify a record"),
        (#"{"type":"user","key":7}"#, "is not text"),
        (#"{"type":"user","id":"7","username":"Ned"}"#, "is not a UUID"),
        (#"{"type":"user","key":"","username":"Ned"}"#, "key is empty"),
    ])
    func `an invalid line is reported with the expected form`(line: String, words: String) {
        let rows = read(#"{"type":"user","username":"a"}"# + "\n" + line + "\n")
        #expect(rows.rows.count == 1)
        #expect(rows.problems.map(\.line) == [2])
        #expect(rows.problems.first?.reason.contains(words) == true, "\(rows.problems)")
    }

    @Test func `bytes that are not UTF-8 invalidate only their line`() {
        let bytes =
            Array(#"{"type":"user","username":""#.utf8) + [0xC3, 0x28]
            + Array("\"}\n{\"type\":\"user\",\"username\":\"b\"}".utf8)
        let rows = ImportSamples.jsonLines.read(bytes)
        #expect(rows.problems.map(\.line) == [1])
        #expect(rows.rows.map(\.identity) == [.key("b")])
    }

    @Test func `deeply nested brackets are refused`() {
        let rows = read(#"{"type":"profile","key":"p","address":"# + String(repeating: "[", count: 100_000))
        #expect(rows.problems.count == 1)
    }
}

@Suite struct CSVImportTests {
    private func read(_ text: String, _ name: CollectionName = "user") -> ImportedRows {
        CSVImport(schema: ImportSamples.schema(name), fallbackKey: name == "user" ? "username" : nil).read(
            Array(text.utf8))
    }

    @Test func `the first row names the columns, and an empty cell sets no value`() {
        let rows = read("username,age\nNed,35\nJon,\n")
        #expect(rows.problems.isEmpty)
        #expect(rows.rows.map(\.identity) == [.key("Ned"), .key("Jon")])
        #expect(rows.rows[0].patch["age"] == .integer(35))
        #expect(rows.rows[1].patch["age"] == nil)
    }

    @Test func `a cell with a key becomes a reference`() {
        let rows = read("key,author\na,@ned\n", "avatar")
        #expect(rows.rows[0].links == [ImportRow.Link(field: "author", target: "user", key: "ned")])
    }

    @Test func `invalid rows are reported with their lines, even after quoted line breaks`() {
        let rows = read("username,age\n\"a\nb\",1\nc,x\nd\ne,5,6\nf,7\n")
        #expect(rows.problems.map(\.line) == [4, 5, 6])
        #expect(rows.rows.map(\.identity) == [.key("a\nb"), .key("f")])
    }

    @Test(arguments: ["", "\n", "\r\n\n"]) func `a file without a header row is reported as a problem`(text: String) {
        let rows = read(text)
        #expect(rows.rows.isEmpty)
        #expect(rows.problems.map(\.line) == [0])
        #expect(rows.problems.allSatisfy { $0.reason.contains("key, id, space, username, avatar, age") })
    }

    @Test(arguments: ["username,shoe\nNed,44\n", "username,username\na,b\n", "\"username\nNed\n"])
    func `an invalid header stops the import`(text: String) {
        let rows = read(text)
        #expect(rows.rows.isEmpty)
        #expect(rows.problems.map(\.line) == [1])
    }

    @Test func `a real is read in decimal notation only, and never becomes zero or infinite`() {
        let good: [(String, Double)] = [
            ("1.5", 1.5), ("-2e3", -2_000), ("0.0e-999", 0), ("5e-324", .leastNonzeroMagnitude), ("+7", 7),
        ]
        for (text, value) in good { #expect(FieldValue(text, as: .real) == .real(value), "\(text)") }
        for text in ["0x1p3", "1e-400", "1e400", "inf", "nan", "1,5", " 1", ""] {
            #expect(FieldValue(text, as: .real) == nil, "\(text)")
        }
    }
}
