/// The 128 bits of a UUID, compared as bytes.
///
/// `Foundation.UUID` is not used, because the model has no dependencies. Identifiers are ordered by their bytes, as in
/// SQLite and PostgreSQL.
public struct Identifier128: Hashable, Comparable, Sendable {
    /// Bytes 0 to 7, most significant first.
    public let high: UInt64
    /// Bytes 8 to 15, most significant first.
    public let low: UInt64

    /// Creates an identifier from any 128 bits. The UUID version in them is not checked.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Returns a version 7 UUID (RFC 9562 §5.7): 48 bits of milliseconds, then 74 random bits.
    public static func version7(at time: WallTime, random: inout some RandomNumberGenerator) -> Identifier128 {
        let milliseconds = UInt64(clamping: time.milliseconds) & 0xFFFF_FFFF_FFFF
        let randomA = random.next() & 0x0FFF
        let randomB = random.next() & 0x3FFF_FFFF_FFFF_FFFF
        return Identifier128(high: milliseconds << 16 | 0x7000 | randomA, low: 0x8000_0000_0000_0000 | randomB)
    }

    /// Parses the 36-character text form, in lower or upper case. Returns nil for any other text.
    public init?(text: some StringProtocol) {
        var text = String(text)
        guard let identifier = text.withUTF8({ Identifier128(utf8: $0) }) else { return nil }
        self = identifier
    }

    /// Parses the 36-byte text form. Returns nil for any other bytes.
    package init?(utf8 bytes: UnsafeBufferPointer<UInt8>) {
        guard bytes.count == 36 else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        var digits = 0
        for position in bytes.indices {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard bytes[position] == UInt8(ascii: "-") else { return nil }
            } else {
                guard let digit = Hexadecimal.value(of: bytes[position]).map(UInt64.init) else { return nil }
                if digits < 16 { words.high = words.high << 4 | digit } else { words.low = words.low << 4 | digit }
                digits += 1
            }
        }
        self.init(high: words.high, low: words.low)
    }

    public static func < (left: Identifier128, right: Identifier128) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    /// Calls `body` with the 36 bytes of the lower-case text form, without creating a `String`.
    public func withUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
        try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 36) { buffer in
            let raw = UnsafeMutableRawBufferPointer(buffer)
            func store(_ digits: UInt64, at offset: Int) {
                raw.storeBytes(of: digits.bigEndian, toByteOffset: offset, as: UInt64.self)
            }
            // Each later store begins where the digits of the one before end, or overwrites its hyphen's place.
            store(Hexadecimal.digits(of: UInt32(truncatingIfNeeded: high >> 32)), at: 0)
            let middle = Hexadecimal.digits(of: UInt32(truncatingIfNeeded: high))
            store(middle, at: 9)
            store(middle << 32, at: 14)
            let end = Hexadecimal.digits(of: UInt32(truncatingIfNeeded: low >> 32))
            store(end, at: 19)
            store(end << 32, at: 24)
            store(Hexadecimal.digits(of: UInt32(truncatingIfNeeded: low)), at: 28)
            for position in [8, 13, 18, 23] { raw[position] = UInt8(ascii: "-") }
            return try body(UnsafeBufferPointer(buffer))
        }
    }

    /// Calls `body` with the 16 bytes, most significant first.
    public func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
        try withUnsafeBytes(of: (high.bigEndian, low.bigEndian), body)
    }

    /// Reads 16 bytes, most significant first. Returns nil for any other number of bytes.
    public init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        self.init(
            high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
            low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }
}

extension Identifier128: CustomStringConvertible {
    public var description: String {
        withUTF8 { String(decoding: $0, as: UTF8.self) }
    }
}
