/// The lines of an input, numbered from 1. A line ends with LF or CRLF; a byte order mark is skipped.
struct InputLines: Sequence, IteratorProtocol {
    private let bytes: [UInt8]
    private var position: Int
    private var number = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = bytes.starts(with: Self.byteOrderMark) ? Self.byteOrderMark.count : 0
    }

    static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    mutating func next() -> (number: Int, bytes: ArraySlice<UInt8>)? {
        guard position < bytes.count else { return nil }
        number += 1
        let start = position
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
        position = end + 1
        let isCRLF = end > start && bytes[end - 1] == UInt8(ascii: "\r")
        return (number, bytes[start..<(isCRLF ? end - 1 : end)])
    }
}

extension ArraySlice<UInt8> {
    /// The bytes as text; nil when they are not UTF-8.
    var validText: String? { String(validating: self, as: UTF8.self) }

    var isBlank: Bool { allSatisfy { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } }
}
