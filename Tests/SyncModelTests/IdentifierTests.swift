import SyncModel
import Testing

@Suite struct IdentifierTests {
    @Test func `a record id can be read back from its text`() {
        var random = SystemRandomNumberGenerator()
        let id = RecordID.make(at: WallTime(milliseconds: 1_700_000_000_000), random: &random)
        #expect(RecordID(id.description) == id)
        #expect(RecordID(id.description.uppercased()) == id)
    }

    @Test func `ids that are created later sort later`() {
        var random = SystemRandomNumberGenerator()
        let earlier = RecordID.make(at: WallTime(milliseconds: 1), random: &random)
        let later = RecordID.make(at: WallTime(milliseconds: 2), random: &random)
        #expect(earlier < later)
    }

    @Test(arguments: [
        "", "0", "00000000-0000-0000-0000-00000000000", "00000000-0000-0000-0000-0000000000000",
        "00000000x0000-0000-0000-000000000000", "g0000000-0000-0000-0000-000000000000",
    ])
    func `text that is not a UUID of 36 characters is refused`(text: String) {
        #expect(RecordID(text) == nil)
    }
}
