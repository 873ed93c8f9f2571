/// The key of a member. Valid while the bytes are that the reader reads.
package struct JSONKey {
    /// Between the quotes, with escapes as they stand.
    let bytes: UnsafeBufferPointer<UInt8>
    let isEscaped: Bool
    package let offset: Int

    package static func ~= (pattern: StaticString, key: JSONKey) -> Bool {
        pattern.withUTF8Buffer { pattern in
            key.isEscaped ? key.decoded.elementsEqual(pattern) : areEqual(key.bytes, pattern)
        }
    }

    /// Equal by the bytes that the keys stand for, not by Unicode's equivalence.
    static func == (left: JSONKey, right: JSONKey) -> Bool {
        if left.isEscaped || right.isEscaped { return left.decoded == right.decoded }
        return areEqual(left.bytes, right.bytes)
    }

    /// Does the same as `elementsEqual` without its iterators: a message has many keys, and each is compared with several.
    private static func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        for index in left.indices where left[index] != right[index] { return false }
        return true
    }

    var decoded: [UInt8] {
        isEscaped ? JSONEscapes.decode(bytes) : Array(bytes)
    }

    package var text: String {
        String(decoding: decoded, as: UTF8.self)
    }

    /// The key for an error message: a stranger's text, so cut and with escapes.
    package var quoted: String { "\"\(Self.shown(decoded))\"" }

    /// A stranger's text as a message may show it: cut, and without what is not plain.
    static func shown(_ text: some Collection<UInt8>) -> String {
        let bytes = text.prefix(64).map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
