import Testing

@testable import SyncModel

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

    @Test func `eight digits in either case are one number`() {
        #expect(number("00000000") == 0)
        #expect(number("0123abcd") == 0x0123_ABCD)
        #expect(number("fEDC9876") == 0xFEDC_9876)
    }

    @Test(arguments: 0...7) func `a byte that is no digit makes no number, wherever it is`(place: Int) {
        for byte in UInt8.min...UInt8.max where Hexadecimal.value(of: byte) == nil {
            for others in ["00000000", "ffffffff", "9A9A9A9A"] {
                var digits = Array(others.utf8)
                digits[place] = byte
                #expect(number(digits) == nil, "\(digits)")
            }
        }
    }

    private func number(_ text: String) -> UInt32? { number(Array(text.utf8)) }

    private func number(_ digits: [UInt8]) -> UInt32? {
        Hexadecimal.number(ofDigits: digits.reduce(0) { $0 << 8 | UInt64($1) })
    }
}
