/// Damage to a file, decoded from arbitrary bytes: a truncation, and overwritten pieces.
package struct FileDamage: Sendable {
    /// The length to truncate the file to, or nil to keep it.
    package var length: Int?
    /// The offsets of the overwritten pieces, and their new bytes.
    package var pieces: [(offset: Int, bytes: [UInt8])] = []

    package init(length: Int? = nil, pieces: [(offset: Int, bytes: [UInt8])] = []) {
        self.length = length
        self.pieces = pieces
    }

    /// Decodes the damage. If the lowest bit of the first byte is set, a length of three bytes follows. Then come the
    /// pieces, each with an offset of three bytes, a count of one byte, and its bytes.
    package init(_ bytes: [UInt8]) {
        var rest = bytes[...]
        func number() -> Int? {
            guard rest.count >= 3 else { return nil }
            defer { rest = rest.dropFirst(3) }
            return rest.prefix(3).reduce(0) { $0 << 8 | Int($1) }
        }
        if rest.popFirst().map({ $0 & 1 == 1 }) == true { length = number() }
        while let offset = number(), let count = rest.popFirst() {
            pieces.append((offset, Array(rest.prefix(Int(count)))))
            rest = rest.dropFirst(Int(count))
        }
    }

    package func applied(to file: [UInt8]) -> [UInt8] {
        var file = file
        for piece in pieces {
            for (index, byte) in piece.bytes.enumerated() where piece.offset + index < file.count {
                file[piece.offset + index] = byte
            }
        }
        if let length { file.removeLast(max(0, file.count - length)) }
        return file
    }

    /// Returns encoded damages. One for each page overwrites its first eight bytes, which on the first page are those
    /// of the file's header. The last one truncates the file to half of its length.
    static func seeds(size: Int) -> [[UInt8]] {
        func number(_ value: Int) -> [UInt8] {
            [UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
        }
        let pages = stride(from: 0, to: size, by: 4_096)
        return pages.map { [0] + number($0) + [8, 13, 0, 0, 0, 255, 0, 0, 0] } + [[1] + number(size / 2)]
    }
}
