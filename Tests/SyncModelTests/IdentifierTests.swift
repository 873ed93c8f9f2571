import SyncModel
import Testing

@Suite struct IdentifierTests {
    @Test func `a record id can be read back from its text`() {
        var random = FixedRandom(bits: 0x0123_4567_89AB_CDEF)
        let id = RecordID.make(at: WallTime(milliseconds: 1_700_000_000_000), random: &random)
        #expect(RecordID(id.description) == id)
        #expect(RecordID(id.description.uppercased()) == id)
    }

    @Test func `ids that are created later sort later`() {
        var greatest = FixedRandom(bits: .max)
        var least = FixedRandom(bits: 0)
        let earlier = RecordID.make(at: WallTime(milliseconds: 1), random: &greatest)
        let later = RecordID.make(at: WallTime(milliseconds: 2), random: &least)
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

/// A generator that always returns the same bits.
private struct FixedRandom: RandomNumberGenerator {
    let bits: UInt64

    mutating func next() -> UInt64 { bits }
}
