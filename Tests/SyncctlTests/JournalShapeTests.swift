import SyncCore
import SyncModel
import SyncProgram
import TestRings
import Testing

@testable import syncctl

/// The text and the JSON of a journal entry.
@Suite(.ring(.unit)) struct JournalShapeTests {
    private static let (own, other) = (
        ClientID(bits: Identifier128(high: 0x7000, low: 0x8000_0000_0000_0001)),
        ClientID(bits: Identifier128(high: 0x7000, low: 0x8000_0000_0000_0002))
    )

    private static func merge(lostBy loser: ClientID, keptBy winner: ClientID) -> JournalEntry {
        func side(_ text: String, _ client: ClientID) -> Contender {
            Contender(
                value: .text(text), stamp: Stamp(time: HybridTime(wall: WallTime(milliseconds: 1)), client: client),
                account: AccountID(rawValue: "ned"))
        }
        let conflict = FieldConflict(
            collection: "todo", record: RecordID(bits: Identifier128(high: 0x7000, low: 0x8000_0000_0000_0009)),
            field: "title", base: .text("Milk"), winner: side("Soy milk", winner), loser: side("Oat milk", loser),
            rule: .latestEdit)
        return JournalEntry(
            number: 1, at: WallTime(milliseconds: 1), sequence: nil, event: .merged([conflict]), state: .active)
    }

    @Test(arguments: [true, false])
    func `a merge tells whether the lost value is this device's`(isOwn: Bool) {
        let (loser, winner) = isOwn ? (Self.own, Self.other) : (Self.other, Self.own)
        let entry = Self.merge(lostBy: loser, keptBy: winner)
        let clients = [Self.own]
        let lines = JournalShape.lines(entry, catalog: SchemaCatalog([]), clients: clients)
        let (mine, others) = ("ned, this device (\(Self.own))", "ned, device \(Self.other)")
        #expect(lines.contains("  lost: 'Oat milk', by \(isOwn ? mine : others)"), "\(lines)")
        #expect(lines.contains("  kept: 'Soy milk', by \(isOwn ? others : mine)"), "\(lines)")
        let json = JournalShape.line(entry, catalog: SchemaCatalog([]), clients: clients).text
        #expect(json.contains(#""keptHere":\#(!isOwn),"lostHere":\#(isOwn)"#), "\(json)")
    }

    @Test func `an entry about removed notices says what happened, and has no values`() {
        let entry = JournalEntry(
            number: 7, at: WallTime(milliseconds: 1), sequence: nil, event: .noticesRemoved(in: .default),
            state: .active)
        let lines = JournalShape.lines(entry, catalog: SchemaCatalog([]), clients: [])
        #expect(
            lines.suffix(2) == [
                "what     overwritten: values in the space default that this device does not know",
                "why      the server keeps a limited number of notices about values that gave way to others, and has removed some that this device may not have fetched",
            ])
        let json = JournalShape.line(entry, catalog: SchemaCatalog([]), clients: []).text
        #expect(json.hasSuffix(#""state":"active","event":"noticesRemoved","space":"default"}"#), "\(json)")
    }

    /// The second field was written after the backup, and its edit names its own value as the former one.
    @Test func `a lost change tells what the server had instead, where it names that`() {
        func edit(_ field: FieldName, _ value: String, over before: String) -> FieldEdit {
            FieldEdit(field: field, value: .text(value), before: .text(before), seen: Version(1))
        }
        let changes = Mutation(
            collection: "todo", record: RecordID(bits: Identifier128(high: 0x7000, low: 0x8000_0000_0000_0009)),
            time: .zero, intent: .update([edit("title", "Oat milk", over: "Milk"), edit("type", "new", over: "new")]))
        let entry = JournalEntry(
            number: 1, at: WallTime(milliseconds: 1), sequence: nil,
            event: .lost(Transaction(space: .default, mutations: [changes])), state: .active)
        let lines = JournalShape.lines(entry, catalog: SchemaCatalog([]), clients: [])
        #expect(lines.suffix(2) == ["  title: 'Oat milk'; the server had 'Milk' instead", "  type: 'new'"], "\(lines)")
        let json = JournalShape.line(entry, catalog: SchemaCatalog([]), clients: []).text
        // A field with the name of another key does not repeat it.
        #expect(json.contains(#""title":"Oat milk","field.type":"new"}]"#), "\(json)")
        #expect(json.contains(#""server":[{"type":"todo","#) && json.hasSuffix(#""title":"Milk"}]}"#), "\(json)")
    }
}
