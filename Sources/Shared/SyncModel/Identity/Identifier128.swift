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
        let hyphen = UInt8(ascii: "-")
        guard bytes.count == 36, bytes[8] == hyphen, bytes[13] == hyphen, bytes[18] == hyphen, bytes[23] == hyphen
        else { return nil }
        let raw = UnsafeRawBufferPointer(bytes)
        func number(at first: Int, _ second: Int) -> UInt64? {
            let high = UInt64(raw.loadUnaligned(fromByteOffset: first, as: UInt32.self).bigEndian)
            let low = UInt64(raw.loadUnaligned(fromByteOffset: second, as: UInt32.self).bigEndian)
            return Hexadecimal.number(ofDigits: high << 32 | low).map(UInt64.init)
        }
        guard let first = number(at: 0, 4), let second = number(at: 9, 14), let third = number(at: 19, 24),
            let fourth = number(at: 28, 32)
        else { return nil }
        self.init(high: first << 32 | second, low: third << 32 | fourth)
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
