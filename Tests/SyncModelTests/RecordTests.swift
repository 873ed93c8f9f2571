import SyncModel
import Testing

@Suite struct RecordTests {
    static let schema = ModelSchema(
        collection: "user",
        fields: [
            .text("username", required: true, bytes: 1...8), .text("bio"), .integer("age"),
            .reference("avatar", to: "user"), .json("settings"),
        ])
    static let id = RecordID(bits: Identifier128(high: 1, low: 2))

    static let invalidPatches: [(Patch, String)] = [
        (["bio": .text("x")] as Patch, "user.username is required and has no value"),
        (["username": .text("")], "user.username is empty"),
        (["username": .text("123456789")], "user.username is too long: 9 bytes, at most 8 allowed"),
        (["username": .integer(1)], "user.username holds text, not integer"),
        (["username": .null], "user.username is required and has no value"),
        (["username": .text("a\u{0}")], "user.username contains U+0000, which cannot be stored"),
        (
            ["username": .text("a"), "settings": .json(String(repeating: "[", count: 33) + "]")],
            "user.settings is JSON nested too deeply: at most 32 levels are allowed"
        ),
        (["username": .text("a"), "hat": .text("x")], "user.hat: there is no such field"),
        (["username": .text("a"), "uid": .integer(7)], "user.uid: there is no such field"),
        (["username": .text("a"), "version": .integer(7)], "user.version: there is no such field"),
    ]

    private func mutation(_ intent: Mutation.Intent) -> Mutation {
        Mutation(collection: "user", record: Self.id, time: .zero, intent: intent)
    }

    @Test func `only the changed fields get the version of a commit`() {
        let created = Record(
            id: Self.id, uid: UID(1), version: Version(3), creating: ["username": .text("ned")], schema: Self.schema)
        #expect(created.fieldVersions.isEmpty)
        let updated = created.updated(by: ["bio": .text("hand")], at: Version(5), schema: Self.schema)
        #expect(updated.version == Version(5))
        #expect((0..<4).map { updated.version(ofFieldAt: $0) } == [Version(3), Version(5), Version(3), Version(3)])
    }

    @Test func `an older commit does not overwrite a field with a later version`() {
        let ahead = Record(
            id: Self.id, uid: UID(1), version: Version(9), creating: ["username": .text("new")], schema: Self.schema)
        let after = ahead.updated(by: ["username": .text("old")], at: Version(7), schema: Self.schema)
        #expect(after == ahead)
    }

    @Test func `fields of a newer build are kept but not shown`() {
        let record = Record(
            id: Self.id, uid: UID(1), version: Version(1),
            creating: ["username": .text("a"), "shoe_size": .integer(43)], schema: Self.schema)
        #expect(record.unknown == ["shoe_size": .integer(43)])
        #expect(
            record.updated(by: ["shoe_size": .integer(44)], at: Version(2), schema: Self.schema).unknown["shoe_size"]
                == .integer(44))
    }

    @Test func `the current record is the base with the outbox applied`() {
        let base = Record(
            id: Self.id, uid: UID(4), version: Version(2), creating: ["username": .text("ned")], schema: Self.schema)
        let rename = mutation(
            .update([FieldEdit(field: "username", value: .text("eddard"), before: .text("ned"), seen: Version(2))]))
        let current = Overlay.current(base: base, applying: [rename], schema: Self.schema)
        #expect(current?.values[0] == .text("eddard"))
        #expect(current?.uid == UID(4) && current?.version == Version(2))
        #expect(
            Overlay.current(base: base, applying: [rename, mutation(.delete(seen: Version(2)))], schema: Self.schema)
                == nil)
        #expect(Overlay.current(base: nil, applying: [rename], schema: Self.schema) == nil)
        let made = Overlay.current(
            base: nil, applying: [mutation(.create(["username": .text("arya")])), rename], schema: Self.schema)
        #expect(made?.uid == UID.none && made?.values[0] == .text("eddard"))
    }

    @Test func `a patch sorts its fields and keeps the later value of a field`() {
        var patch: Patch = ["c": .integer(1), "a": .integer(2), "b": .integer(3), "a": .integer(4)]
        #expect(patch.map(\.field) == ["a", "b", "c"])
        #expect(patch["a"] == .integer(4))
        patch.remove("b")
        #expect(patch["b"] == nil && patch.count == 2)
    }

    @Test func `values are compared by their bytes`() {
        #expect(FieldValue.text("cafe\u{301}") != FieldValue.text("caf\u{E9}"))
        #expect(Set([FieldValue.text("cafe\u{301}"), .text("caf\u{E9}")]).count == 2)
        #expect(FieldValue.real(0.0) != FieldValue.real(-0.0))
        #expect(FieldValue.text("1") != FieldValue.json("1"))
    }

    @Test(arguments: invalidPatches)
    func `an invalid value is refused with the name of its field`(patch: Patch, words: String) {
        do throws(InvalidValueError) {
            try Self.schema.check(creating: patch)
            Issue.record("accepted")
        } catch {
            #expect(error.description == words)
        }
    }

    @Test func `an invalid transaction is rejected with the index of the invalid mutation`() {
        let catalog = SchemaCatalog([Self.schema])
        let good = mutation(.create(["username": .text("a")]))
        let bad = Mutation(collection: "hat", record: Self.id, time: .zero, intent: .delete(seen: .zero))
        #expect(catalog.rejection(of: Transaction(space: .default, mutations: [good])) == nil)
        #expect(catalog.rejection(of: Transaction(space: .default, mutations: []))?.code == .malformed)
        let rejection = catalog.rejection(of: Transaction(space: .default, mutations: [good, bad]))
        #expect(rejection?.code == .unknownCollection && rejection?.mutation == 1)
        let many = Transaction(
            space: .default, mutations: Array(repeating: good, count: SchemaLimits.mutationsPerTransaction + 1))
        #expect(catalog.rejection(of: many)?.code == .tooLarge)
        let heavy = mutation(
            .update(
                (0..<20).map { _ in
                    FieldEdit(
                        field: "bio", value: .text(String(repeating: "x", count: 60_000)), before: .null, seen: .zero)
                }))
        #expect(catalog.rejection(of: Transaction(space: .default, mutations: [heavy]))?.code == .tooLarge)
    }

    @Test(arguments: ["", "1a", "A", "a-b", "é", "a b", String(repeating: "a", count: 64)])
    func `an invalid collection name is refused`(text: String) {
        #expect(CollectionName(rawValue: text) == nil)
    }
}
