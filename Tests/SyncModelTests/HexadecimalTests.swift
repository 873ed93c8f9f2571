import SyncModel
import Testing

@Suite struct HexadecimalTests {
    @Test func `each byte is two lower-case digits`() {
        #expect(Hexadecimal.text(of: []) == "")
        #expect(Hexadecimal.text(of: [0, 0x0F, 0xA5, 0xFF]) == "000fa5ff")
    }

    @Test func `a number is sixteen digits`() {
        #expect(Hexadecimal.text(of: UInt64(0)) == "0000000000000000")
        #expect(Hexadecimal.text(of: 0x0123_4567_89AB_CDEF) == "0123456789abcdef")
        #expect(Hexadecimal.text(of: UInt64.max) == "ffffffffffffffff")
    }

    @Test func `text of digits is read in either case, and any other text is refused`() {
        #expect(Hexadecimal.bytes("000fa5FF") == [0, 0x0F, 0xA5, 0xFF])
        #expect(Hexadecimal.bytes("") == [])
        for text in ["0", "0g", "+1", "é"] { #expect(Hexadecimal.bytes(text) == nil, "\(text)") }
    }
}
