/// A number, classified by how it is written in the text.
package enum JSONNumber: Hashable, Sendable {
    /// A number without a fraction or an exponent that fits into 64 bits.
    case integer(Int64)
    /// A finite number with a fraction or an exponent.
    case real(Double)
    /// A number without a fraction or an exponent that exceeds 64 bits: only the nearest `Double`.
    case rounded(Double)
}

extension Double {
    /// Parses a decimal number, such as `1.5` or `-2e3`.
    ///
    /// Returns nil for other notations, and for a number beyond the range of a double, which would become infinite or
    /// zero.
    package init?(decimal text: String) {
        let notation = text.utf8.allSatisfy { byte in
            byte &- UInt8(ascii: "0") < 10 || byte | 0x20 == UInt8(ascii: "e") || "+-.".utf8.contains(byte)
        }
        guard notation, let value = Double(text), value.isFinite else { return nil }
        let significand = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        guard value != 0 || !significand.contains(where: { $0 &- UInt8(ascii: "1") < 9 }) else { return nil }
        self = value
    }
}

extension JSONReader {
    package mutating func number() throws(JSONError) -> JSONNumber {
        let first = next()
        guard first == UInt8(ascii: "-") || isDigit(position) else { throw unexpected("a number") }
        let start = position
        if let integer = try scanInteger() { return .integer(integer) }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let value = Double(decimal: text) else {
            throw JSONError(.syntax, at: start, "a number that is too large or too small for a double")
        }
        let isIntegral = bytes[start..<position].allSatisfy { $0 == UInt8(ascii: "-") || $0 &- UInt8(ascii: "0") < 10 }
        return isIntegral ? .rounded(value) : .real(value)
    }

    /// Reads an integer that fits into 64 bits.
    package mutating func integer() throws(JSONError) -> Int64 {
        _ = next()
        let start = position
        guard case .integer(let value) = try number() else {
            throw JSONError(.content, at: start, "expected a number without fraction and exponent, within 64 bits")
        }
        return value
    }

    /// Scans a number by the grammar of RFC 8259 §6, and returns it if it is a 64-bit integer; otherwise nil.
    private mutating func scanInteger() throws(JSONError) -> Int64? {
        let isNegative = bytes[position] == UInt8(ascii: "-")
        if isNegative { position += 1 }
        guard isDigit(position) else { throw unexpected("a digit") }
        if bytes[position] == UInt8(ascii: "0"), isDigit(position + 1) {
            throw JSONError(.syntax, at: position, "a number that begins with 0")
        }
        var magnitude: UInt64 = 0
        var isExact = true
        // 18 digits cannot overflow.
        let end = min(position + 18, bytes.count)
        while position < end, case let digit = bytes[position] &- UInt8(ascii: "0"), digit < 10 {
            magnitude = magnitude &* 10 &+ UInt64(digit)
            position += 1
        }
        while isDigit(position) {
            let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(bytes[position] - UInt8(ascii: "0")))
            if overflow || carry { isExact = false }
            magnitude = sum
            position += 1
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isExact = false
            position += 1
            try scanDigits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isExact = false
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try scanDigits()
        }
        guard isExact else { return nil }
        if isNegative {
            return magnitude <= UInt64(Int64.min.magnitude) ? Int64(truncatingIfNeeded: 0 &- magnitude) : nil
        }
        return Int64(exactly: magnitude)
    }

    private mutating func scanDigits() throws(JSONError) {
        guard isDigit(position) else { throw unexpected("a digit") }
        while isDigit(position) { position += 1 }
    }

    private func isDigit(_ position: Int) -> Bool {
        position < bytes.count && bytes[position] &- UInt8(ascii: "0") < 10
    }
}
