import SyncModel
import Testing

@testable import SyncCore

/// Edits that are written in several transactions, because they exceed the limits of one transaction.
@Suite struct RecordEditPartsTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(
            collection: "person",
            fields: [
                .text("name", required: true), .reference("friend", to: "person"), .text("bio", bytes: 0...600_000),
                .text("notes", bytes: 0...600_000),
            ]),
        ModelSchema(
            collection: "pet", fields: [.reference("owner", to: "person", required: true), .text("name")]),
    ])

    private static func id(_ number: Int) -> RecordID {
        RecordID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0000 + UInt64(number)))
    }

    /// Writes parts one after the other, as a store does, and returns the records. Fails the test if a part exceeds the
    /// limits, or refers to a record that has not been created by then.
    private static func written(_ parts: [[RecordEdit]]) -> [RecordAddress: Patch] {
        var records: [RecordAddress: Patch] = [:]
        for part in parts {
            var mutations: [Mutation] = []
            for edit in part {
                let address = RecordAddress(edit.collection, edit.record)
                switch edit {
                case .create: records[address] = edit.patch
                case .update:
                    #expect(records[address] != nil, "\(address) is updated before it is created")
                    for (name, value) in edit.patch { records[address]?.set(name, to: value) }
                case .delete: records[address] = nil
                }
                mutations.append(
                    Mutation(collection: edit.collection, record: edit.record, time: .zero, intent: .create(edit.patch))
                )
            }
            #expect(part.count <= SchemaLimits.mutationsPerTransaction)
            #expect(Transaction(space: .default, mutations: mutations).byteCount <= SchemaLimits.transactionBytes)
            for (_, patch) in records {
                for (name, value) in patch {
                    guard case .reference(let id) = value else { continue }
                    #expect(records[RecordAddress("person", id)] != nil, "\(name) refers to \(id), which is not there")
                }
            }
        }
        return records
    }

    @Test func `records in a reference cycle are created first, and the cycle is closed by updates`() {
        let count = 1_200
        let edits = (0..<count).map { number in
            RecordEdit.create(
                "person", Self.id(number),
                ["name": .text("\(number)"), "friend": .reference(Self.id((number + 1) % count))])
        }
        let records = Self.written(edits.inParts(Self.catalog))
        #expect(records.count == count)
        for edit in edits { #expect(records[RecordAddress("person", edit.record)] == edit.patch) }
    }

    @Test func `values that have no room in a create follow as updates`() {
        let long = FieldValue.text(String(repeating: "x", count: 600_000))
        let whole: Patch = ["name": .text("Ned"), "bio": long, "notes": long]
        let parts = [RecordEdit.create("person", Self.id(0), whole)].inParts(Self.catalog)
        #expect(parts.count == 2)
        #expect(Self.written(parts)[RecordAddress("person", Self.id(0))] == whole)
    }

    @Test func `a record is created no earlier than those that it requires, and deletes stay together at the end`() {
        var edits: [RecordEdit] = []
        for number in 0..<700 {
            let owner = Self.id(1_000 + number)
            edits.append(.create("pet", Self.id(number), ["owner": .reference(owner), "name": .text("Rex")]))
            edits.append(.create("person", owner, ["name": .text("Ned")]))
        }
        edits.append(.create("person", Self.id(5_000), ["name": .text("late")]))
        edits += [.delete("pet", Self.id(8_001)), .delete("person", Self.id(8_002))]
        let parts = edits.inParts(Self.catalog)
        #expect(Self.written(parts).count == 1_401)
        #expect(parts.last?.suffix(2) == edits.suffix(2))
    }

    @Test func `edits that fit into one transaction stay in one`() {
        let edits: [RecordEdit] = [
            .create("person", Self.id(0), ["name": .text("Ned"), "friend": .reference(Self.id(0))]),
            .update("pet", Self.id(1), ["owner": .reference(Self.id(0))]), .delete("pet", Self.id(2)),
        ]
        #expect(edits.inParts(Self.catalog) == [edits])
    }
}
