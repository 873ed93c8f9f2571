import SyncModel
import Testing

@Suite struct FieldValueTests {
    /// Journals compare the values of many entries by their hashes alone.
    @Test func `values of different types and empty fields have different hashes`() {
        let zero = RecordID(bits: Identifier128(high: 0, low: 0))
        let values: [FieldValue] = [
            .null, .boolean(false), .boolean(true), .integer(0), .integer(1), .real(0), .text(""), .text("0"),
            .json("0"), .reference(zero),
        ]
        #expect(Set(values.map(\.hashValue)).count == values.count)
    }

    @Test func `texts are equal if their bytes are, and then have equal hashes`() {
        let (composed, decomposed) = (FieldValue.text("\u{E9}"), FieldValue.text("e\u{301}"))
        #expect(composed != decomposed && composed.hashValue != decomposed.hashValue)
        let long = String(repeating: "Tombolo ", count: 100)
        #expect(FieldValue.text(long).hashValue == FieldValue.text(String(long.reversed().reversed())).hashValue)
    }
}
