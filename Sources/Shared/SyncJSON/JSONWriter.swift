/// Appends JSON to a byte array, without white space, in the order of the calls.
///
/// The writer inserts the commas. The caller must alternate keys and values, and must end every object and array that
/// it begins.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    private var needsComma = false

    package init(reserving capacity: Int = 0) {
        bytes.reserveCapacity(capacity)
    }

    package mutating func beginObject() { open(UInt8(ascii: "{")) }
    package mutating func endObject() { close(UInt8(ascii: "}")) }
    package mutating func beginArray() { open(UInt8(ascii: "[")) }
    package mutating func endArray() { close(UInt8(ascii: "]")) }

    package mutating func key(_ key: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        key.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func null() { word("null") }

    package mutating func boolean(_ value: Bool) { word(value ? "true" : "false") }

    package mutating func integer(_ value: some BinaryInteger) {
        integer(UInt64(value.magnitude), isNegative: value < 0)
    }

    // Without these two functions, callers in other modules would convert an integer through generic code.
    package mutating func integer(_ value: Int64) {
        integer(value.magnitude, isNegative: value < 0)
    }

    package mutating func integer(_ value: Int) { integer(Int64(value)) }

    private mutating func integer(_ magnitude: UInt64, isNegative: Bool) {
        separate()
        if isNegative { bytes.append(UInt8(ascii: "-")) }
        if magnitude < 10 {
            bytes.append(UInt8(ascii: "0") + UInt8(magnitude))
        } else {
            appendDigits(of: magnitude)
        }
        needsComma = true
    }

    /// Appends the shortest text that reads back as the same number. The text always has a fraction or an exponent.
    ///
    /// - Precondition: `value` is finite.
    package mutating func real(_ value: Double) {
        precondition(value.isFinite, "\(value) cannot be written as JSON")
        separate()
        bytes.append(contentsOf: value.description.utf8)
        needsComma = true
    }

    package mutating func string(_ text: some StringProtocol) {
        if text.utf8.withContiguousStorageIfAvailable({ string($0) }) == nil {
            Array(text.utf8).withUnsafeBufferPointer { string($0) }
        }
    }

    package mutating func string(_ text: String) {
        var text = text
        text.withUTF8 { string($0) }
    }

    private mutating func string(_ text: UnsafeBufferPointer<UInt8>) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        appendEscaped(text)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Appends a string that needs no escapes, such as the digits of an identifier.
    package mutating func plainString(_ text: UnsafeBufferPointer<UInt8>) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: text)
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Appends a complete value that is already JSON.
    package mutating func verbatim(_ json: [UInt8]) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    /// Appends a complete value that is already JSON.
    package mutating func verbatim(_ json: UnsafeBufferPointer<UInt8>) {
        separate()
        bytes.append(contentsOf: json)
        needsComma = true
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
    }

    private mutating func word(_ word: StaticString) {
        separate()
        word.withUTF8Buffer { bytes.append(contentsOf: $0) }
        needsComma = true
    }

    private mutating func appendDigits(of magnitude: UInt64) {
        var rest = magnitude
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 21) { buffer in
            var position = buffer.count
            repeat {
                position -= 1
                buffer.initializeElement(at: position, to: UInt8(ascii: "0") + UInt8(rest % 10))
                rest /= 10
            } while rest > 0
            bytes.append(contentsOf: buffer[position...])
        }
    }

    private mutating func appendEscaped(_ text: UnsafeBufferPointer<UInt8>) {
        let raw = UnsafeRawBufferPointer(text)
        var written = 0
        var position = 0
        // The loop uses no iterator, because a debug build does not specialize iterators.
        while position < text.count {
            if position + 8 <= text.count {
                let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                let marks = JSONEscapes.marks(in: word)
                guard marks != 0 else {
                    position += 8
                    continue
                }
                position += marks.trailingZeroBitCount / 8
            } else if !JSONEscapes.isNeeded(for: text[position]) {
                position += 1
                continue
            }
            bytes.append(contentsOf: text[written..<position])
            appendEscape(of: text[position])
            position += 1
            written = position
        }
        bytes.append(contentsOf: text[written...])
    }

    private mutating func appendEscape(of byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0..<0x20:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }
}
