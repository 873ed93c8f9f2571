import SyncCore
import SyncModel
import Testing

/// The transactions of a restore, when the store refuses some of them.
@Suite struct RestoreWritingTests {
    private static let catalog = SchemaCatalog([
        ModelSchema(collection: "person", fields: [.text("name", required: true)]),
        ModelSchema(
            collection: "pet", fields: [.reference("owner", to: "person", required: true), .text("name")]),
    ])

    private static func id(_ number: Int) -> RecordID {
        RecordID(bits: Identifier128(high: 0x0193_5A1B_2C3D_7000, low: 0x8000_0000_0000_0000 + UInt64(number)))
    }

    private static func person(_ number: Int) -> Mutation {
        Mutation(collection: "person", record: id(number), time: .zero, intent: .create(["name": .text("\(number)")]))
    }

    private static func pet(_ number: Int, of owner: Int) -> Mutation {
        let patch: Patch = ["name": .text("\(number)"), "owner": .reference(id(owner))]
        return Mutation(collection: "pet", record: id(number), time: .zero, intent: .create(patch))
    }

    /// Writes an entry on a device without records.
    ///
    /// - Parameter refusal: Returns the reason why the store refuses edits.
    /// - Returns: The records of the transactions that were written, and those of the changes that were not.
    private static func write(
        _ event: JournalEntry.Event, _ refusal: ([RecordEdit]) -> StoreError.Code?
    ) throws -> (written: [[RecordID]], left: [RecordID]) {
        let entry = JournalEntry(
            number: 1, at: WallTime(milliseconds: 0), sequence: nil, event: event, state: .active, records: nil)
        let plan = try RestorePlan(
            of: entry, in: .default,
            RestorePlan.Records(
                catalog, newID: { id(99) }, replacement: { _ in nil }, space: { _ in nil }, isOffered: { _ in false },
                restoredCreation: { _ in nil }))
        var writing = RestoreWriting(plan)
        var written: [[RecordID]] = []
        while let edits = writing.next() {
            if let code = refusal(edits) {
                try writing.refused(StoreError(code, "no"))
            } else {
                written.append(edits.map(\.record))
            }
        }
        return (written, try writing.rest().map(\.record))
    }

    private static func lost(_ mutations: Mutation...) -> JournalEntry.Event {
        .lost(Transaction(space: .default, mutations: mutations))
    }

    /// Writes edits into a store that finds some transactions too large. Only the store knows the values that edits
    /// replace, which count, too.
    private static func write(
        _ edits: [RecordEdit], refusing isTooLarge: ([RecordEdit]) -> Bool
    ) throws -> [[RecordEdit]] {
        var writing = RestoreWriting(edits, catalog)
        var written: [[RecordEdit]] = []
        while let edits = writing.next() {
            if isTooLarge(edits) { try writing.refused(StoreError(.tooLarge, "no")) } else { written.append(edits) }
        }
        return written
    }

    private static func update(_ number: Int) -> RecordEdit {
        .update("person", id(number), ["name": .text("\(number)")])
    }

    @Test func `updates that are too large with what they replace are written in ever smaller transactions`() throws {
        let edits = (0..<7).map(Self.update)
        let written = try Self.write(edits) { $0.count > 2 }
        #expect(written.allSatisfy { !$0.isEmpty } && written.flatMap(\.self) == edits)
    }

    @Test func `updates that are too large beside a create and a delete are written between them`() throws {
        let edits =
            [.create("person", Self.id(9), ["name": .text("new")])] + (0..<3).map(Self.update)
            + [.delete("person", Self.id(8))]
        let written = try Self.write(edits) { $0.count > 1 }
        #expect(written == edits.map { [$0] })
    }

    @Test func `one record whose fields are too large together is written field by field`() throws {
        let edit = RecordEdit.update("pet", Self.id(1), ["name": .text("a"), "owner": .reference(Self.id(2))])
        let written = try Self.write([edit]) { $0.reduce(0) { $0 + $1.patch.count } > 1 }
        #expect(written.map { $0.map(\.patch.count) } == [[1], [1]])
    }

    @Test func `an edit, or creates, that are too large by themselves end the restore`() {
        let creates = (0..<2).map { RecordEdit.create("person", Self.id($0), ["name": .text("a")]) }
        for edits in [[Self.update(1)], creates] {
            let error = #expect(throws: StoreError.self) { try Self.write(edits) { _ in true } }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test func `the parts of a lost entry are written in the order of the plan`() throws {
        let (written, left) = try Self.write(Self.lost(Self.person(1), Self.pet(2, of: 1), Self.pet(3, of: 9))) {
            _ in nil
        }
        #expect(written == [[Self.id(1)], [Self.id(2)]])
        // The plan has postponed this one, because its owner is missing.
        #expect(left == [Self.id(3)])
    }

    @Test(arguments: [StoreError.Code.invalidValue, .tooLarge])
    func `a refused part stays in the journal with those that depend on it`(code: StoreError.Code) throws {
        let entry = Self.lost(Self.person(1), Self.pet(2, of: 1), Self.person(3), Self.pet(4, of: 3))
        let (written, left) = try Self.write(entry) { edits in edits[0].record == Self.id(1) ? code : nil }
        #expect(written == [[Self.id(3)], [Self.id(4)]])
        #expect(left == [Self.id(1), Self.id(2)])
    }

    @Test func `the first refusal names its record, and is thrown when nothing can be written`() {
        let error = #expect(throws: StoreError.self) {
            try Self.write(Self.lost(Self.person(1), Self.pet(2, of: 1))) { _ in .invalidValue }
        }
        #expect(error?.code == .invalidValue && error?.message == "\(RecordAddress("person", Self.id(1))): no")
    }

    @Test func `a refusal that is not about a part ends the restore`() {
        let error = #expect(throws: StoreError.self) {
            try Self.write(Self.lost(Self.person(1), Self.person(2))) { edits in
                edits[0].record == Self.id(2) ? .outboxFull : nil
            }
        }
        #expect(error?.code == .outboxFull)
    }

    @Test func `a rejected transaction is restored whole or not at all`() {
        let transaction = Transaction(space: .default, mutations: [Self.person(1), Self.person(2)])
        let error = #expect(throws: StoreError.self) {
            try Self.write(.cancelled(transaction)) { _ in .invalidValue }
        }
        #expect(error?.code == .invalidValue && error?.message == "no")
    }

    @Test func `a transaction that is too large is written in several`() throws {
        let count = SchemaLimits.mutationsPerTransaction + 1
        let transaction = Transaction(space: .default, mutations: (1...count).map(Self.person))
        let refusal: ([RecordEdit]) -> StoreError.Code? = {
            $0.count > SchemaLimits.mutationsPerTransaction ? .tooLarge : nil
        }
        let (written, left) = try Self.write(.cancelled(transaction), refusal)
        #expect(written.map(\.count) == [count - 1, 1] && left.isEmpty)
        #expect(Set(written.joined()).count == count)
    }

    @Test func `what is too large by itself is refused`() {
        var writing = RestoreWriting([.create("person", Self.id(1), ["name": .text("1")])], Self.catalog)
        #expect(writing.next() != nil)
        #expect(throws: StoreError(.tooLarge, "no")) { try writing.refused(StoreError(.tooLarge, "no")) }
    }
}
