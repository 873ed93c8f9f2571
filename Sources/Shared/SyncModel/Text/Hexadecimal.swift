/// Bytes and numbers as hexadecimal text, with lower-case digits.
package enum Hexadecimal {
    /// Returns two digits for each byte.
    package static func text(of bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { buffer in
            for (index, byte) in bytes.enumerated() {
                buffer.initializeElement(at: index * 2, to: digit(byte >> 4))
                buffer.initializeElement(at: index * 2 + 1, to: digit(byte & 0xF))
            }
            return bytes.count * 2
        }
    }

    /// Returns 16 digits.
    package static func text(of number: UInt64) -> String {
        text(of: (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    }

    /// Returns a secret of 256 random bits.
    package static func secret(from random: () -> UInt64) -> String {
        (0..<4).map { _ in text(of: random()) }.joined()
    }

    /// Returns the bytes of a text of digits in lower or upper case; nil for any other text.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    /// Returns the eight digits of a number as ASCII text, the first one in the most significant byte.
    static func digits(of number: UInt32) -> UInt64 {
        // One half-byte in each byte, in the same order.
        var values = UInt64(number)
        values = (values << 16 | values) & 0x0000_FFFF_0000_FFFF
        values = (values << 8 | values) & 0x00FF_00FF_00FF_00FF
        values = (values << 4 | values) & 0x0F0F_0F0F_0F0F_0F0F
        let ones: UInt64 = 0x0101_0101_0101_0101
        // 1 in each byte whose value is 10 or more, whose digit is a letter.
        let letters = ((values &+ ones &* 6) >> 4) & ones
        let distance = UInt64(UInt8(ascii: "a") - UInt8(ascii: "0") - 10)
        return values &+ ones &* UInt64(UInt8(ascii: "0")) &+ letters &* distance
    }

    /// Returns the number that eight digits of ASCII text stand for, in lower or upper case; nil for any other bytes.
    ///
    /// - Parameter digits: the first digit in the most significant byte.
    static func number(ofDigits digits: UInt64) -> UInt32? {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // 1 in each byte that is a letter, if all bytes are digits.
        let letters = (digits >> 6) & ones
        let lowercase = digits | letters << 5
        // One half-byte in each byte. A letter's lower half-byte counts from 1.
        var values = (digits & (ones &* 0xF)) &+ letters &* 9
        values = (values >> 4 | values) & 0x00FF_00FF_00FF_00FF
        values = (values >> 8 | values) & 0x0000_FFFF_0000_FFFF
        let number = UInt32(truncatingIfNeeded: values >> 16 | values)
        // Any other byte does not come back.
        return Self.digits(of: number) == lowercase ? number : nil
    }

    /// Returns the digit of a value below 16, as a byte of ASCII text.
    static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? value + UInt8(ascii: "0") : value - 10 + UInt8(ascii: "a")
    }

    /// Returns the value of a digit in lower or upper case; nil for any other byte.
    static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
