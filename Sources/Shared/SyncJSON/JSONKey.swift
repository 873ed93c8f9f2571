/// The key of a member.
///
/// Valid only while the bytes that the reader reads are valid.
package struct JSONKey {
    /// The bytes between the quotes, with escapes not decoded.
    let bytes: UnsafeBufferPointer<UInt8>
    let isEscaped: Bool
    package let offset: Int

    package static func ~= (pattern: StaticString, key: JSONKey) -> Bool {
        pattern.withUTF8Buffer { pattern in
            key.isEscaped ? key.decoded.elementsEqual(pattern) : areEqual(key.bytes, pattern)
        }
    }

    /// Compares the decoded bytes of two keys, not their Unicode equivalence.
    static func == (left: JSONKey, right: JSONKey) -> Bool {
        if left.isEscaped || right.isEscaped { return left.decoded == right.decoded }
        return areEqual(left.bytes, right.bytes)
    }

    /// Compares two buffers like `elementsEqual`, but without its iterators: a message has many keys, and each is
    /// compared with several.
    private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    /// Returns whether the first key comes before the second in the order of their bytes.
    static func precedes(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        for index in 0..<min(left.count, right.count) where left[index] != right[index] {
            return left[index] < right[index]
        }
        return left.count < right.count
    }

    var decoded: [UInt8] {
        isEscaped ? JSONEscapes.decode(bytes) : Array(bytes)
    }

    /// The bytes of the key; nil if it has escapes.
    package var plainBytes: UnsafeBufferPointer<UInt8>? { isEscaped ? nil : bytes }

    package var text: String {
        isEscaped ? String(decoding: decoded, as: UTF8.self) : String(decoding: bytes, as: UTF8.self)
    }

    /// The key for an error message: truncated, with non-ASCII bytes and control characters replaced, because the text
    /// is untrusted.
    package var quoted: String { "\"\(Self.shown(decoded))\"" }

    /// Returns untrusted text in a form that a message may show: at most 64 bytes of printable ASCII, with `?` for all
    /// others.
    static func shown(_ text: some Collection<UInt8>) -> String {
        let bytes = text.prefix(64).map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
