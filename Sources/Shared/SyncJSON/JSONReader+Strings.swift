extension JSONReader {
    /// The bytes between two quotes, with escapes not decoded.
    struct StringSlice {
        let bytes: UnsafeBufferPointer<UInt8>
        let isEscaped: Bool
    }

    package mutating func string() throws(JSONError) -> String {
        guard next() == UInt8(ascii: "\"") else { throw unexpected("text in double quotes") }
        let slice = try scanString()
        return slice.isEscaped
            ? String(decoding: JSONEscapes.decode(slice.bytes), as: UTF8.self)
            : String(decoding: slice.bytes, as: UTF8.self)
    }

    /// Reads a string and passes its bytes to `body`, without creating a `String`.
    package mutating func withString<Result>(
        _ body: (UnsafeBufferPointer<UInt8>) -> Result
    ) throws(JSONError) -> Result {
        guard next() == UInt8(ascii: "\"") else { throw unexpected("text in double quotes") }
        let slice = try scanString()
        guard slice.isEscaped else { return body(slice.bytes) }
        return JSONEscapes.decode(slice.bytes).withUnsafeBufferPointer(body)
    }

    /// Reads a string, starting at its opening quote. Checks UTF-8 and escapes.
    mutating func scanString() throws(JSONError) -> StringSlice {
        position += 1
        let start = position
        var isEscaped = false
        while true {
            skipPlainBytes()
            guard position < bytes.count else { throw unexpected("'\"'") }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let slice = UnsafeBufferPointer(rebasing: bytes[start..<position])
                position += 1
                return StringSlice(bytes: slice, isEscaped: isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                try scanEscape()
            case 0..<0x20:
                throw unexpected("an escape for the control character")
            default:
                try scanMultibyteScalar()
            }
        }
    }

    /// Skips to the next quote, backslash, control character, or non-ASCII byte, eight bytes per step.
    private mutating func skipPlainBytes() {
        let tops: UInt64 = 0x8080_8080_8080_8080
        let raw = UnsafeRawBufferPointer(bytes)
        while position + 8 <= raw.count {
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let special = JSONEscapes.marks(in: word) | word & tops
            guard special == 0 else {
                position += special.trailingZeroBitCount / 8
                return
            }
            position += 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            if byte >= 0x80 || JSONEscapes.isNeeded(for: byte) { return }
            position += 1
        }
    }

    private mutating func scanEscape() throws(JSONError) {
        position += 1
        guard position < bytes.count else { throw unexpected("an escape") }
        switch bytes[position] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
        case UInt8(ascii: "u"):
            let start = position - 1
            position += 1
            let unit = try scanHexDigits()
            if (0xDC00...0xDFFF).contains(unit) {
                throw JSONError(.syntax, at: start, "the second half of a surrogate pair without the first")
            }
            guard (0xD800...0xDBFF).contains(unit) else { return }
            guard position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
                bytes[position + 1] == UInt8(ascii: "u")
            else { throw JSONError(.syntax, at: start, "the first half of a surrogate pair without the second") }
            position += 2
            guard (0xDC00...0xDFFF).contains(try scanHexDigits()) else {
                throw JSONError(.syntax, at: start, "the first half of a surrogate pair without the second")
            }
        default: throw unexpected("an escape")
        }
    }

    private mutating func scanHexDigits() throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard position < bytes.count, let digit = JSONEscapes.value(ofHexDigit: bytes[position]) else {
                throw unexpected("four hexadecimal digits")
            }
            value = value << 4 | digit
            position += 1
        }
        return value
    }

    /// Checks one scalar of two to four bytes against table 3-7 of Unicode 16: no overlong forms, no surrogates.
    private mutating func scanMultibyteScalar() throws(JSONError) {
        let lead = bytes[position]
        let (count, second): (Int, ClosedRange<UInt8>) =
            switch lead {
            case 0xC2...0xDF: (2, 0x80...0xBF)
            case 0xE0: (3, 0xA0...0xBF)
            case 0xED: (3, 0x80...0x9F)
            case 0xE1...0xEF: (3, 0x80...0xBF)
            case 0xF0: (4, 0x90...0xBF)
            case 0xF1...0xF3: (4, 0x80...0xBF)
            case 0xF4: (4, 0x80...0x8F)
            default: (0, 0x80...0xBF)
            }
        guard count > 0, position + count <= bytes.count, second.contains(bytes[position + 1]) else {
            throw unexpected("UTF-8")
        }
        for offset in 2..<max(count, 2) where !(0x80...0xBF).contains(bytes[position + offset]) {
            throw unexpected("UTF-8")
        }
        position += count
    }
}

/// The escapes in JSON strings.
enum JSONEscapes {
    /// Whether a string cannot contain the byte without an escape.
    static func isNeeded(for byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    /// Returns a mark of the first of eight bytes that needs an escape, which is the lowest byte: the lowest bit that
    /// is set is the top bit of that byte. Higher bits mean nothing. Zero if no byte needs an escape.
    static func marks(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
        let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
        // A borrow can only set bits above the first mark.
        return (((word &- ones &* 0x20) & ~word) | ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash))
            & tops
    }

    /// Returns the decoded bytes of a string whose escapes have been checked.
    static func decode(_ bytes: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            guard bytes[position] == UInt8(ascii: "\\") else {
                result.append(bytes[position])
                position += 1
                continue
            }
            let letter = bytes[position + 1]
            position += 2
            switch letter {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0C)
            case UInt8(ascii: "n"): result.append(0x0A)
            case UInt8(ascii: "r"): result.append(0x0D)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = hexDigits(bytes, at: position)
                position += 4
                if (0xD800...0xDBFF).contains(scalar) {
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (hexDigits(bytes, at: position + 2) - 0xDC00)
                    position += 6
                }
                // `scanEscape` has already rejected lone surrogates, so every value here is a Unicode scalar.
                result.append(contentsOf: String(UnicodeScalar(scalar) ?? "\u{FFFD}").utf8)
            default: result.append(letter)
            }
        }
        return result
    }

    private static func hexDigits(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 << 4 | (value(ofHexDigit: bytes[position + $1]) ?? 0) }
    }

    static func value(ofHexDigit byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
