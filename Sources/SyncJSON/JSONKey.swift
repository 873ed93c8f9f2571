/// The key of a member. Valid while the bytes are that the reader reads.
package struct JSONKey {
    /// Between the quotes, with escapes as they stand.
    let bytes: UnsafeBufferPointer<UInt8>
    let isEscaped: Bool
    package let offset: Int

    package static func ~= (pattern: StaticString, key: JSONKey) -> Bool {
        pattern.withUTF8Buffer { pattern in
            key.isEscaped
                ? key.decoded.elementsEqual(pattern)
                : key.bytes.count == pattern.count && key.bytes.elementsEqual(pattern)
        }
    }

    /// Equal by the bytes that the keys stand for, not by Unicode's equivalence.
    static func == (left: JSONKey, right: JSONKey) -> Bool {
        if left.isEscaped || right.isEscaped { return left.decoded == right.decoded }
        return left.bytes.count == right.bytes.count && left.bytes.elementsEqual(right.bytes)
    }

    var decoded: [UInt8] {
        isEscaped ? JSONEscapes.decode(bytes) : Array(bytes)
    }

    package var text: String {
        String(decoding: decoded, as: UTF8.self)
    }

    /// The key for an error message: a stranger's text, so cut and with escapes.
    package var quoted: String {
        let shown = decoded.prefix(64).map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
        return "\"\(String(decoding: shown, as: UTF8.self))\""
    }
}
