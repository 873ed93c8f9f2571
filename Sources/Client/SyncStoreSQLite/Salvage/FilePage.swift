/// A page of a table's B-tree, other than the first of the file (https://sqlite.org/fileformat2.html#b_tree_pages).
struct FilePage {
    let bytes: [UInt8]

    /// The form that tells the rows of a table from others.
    struct Shape {
        /// How many columns the rows have at least: a migration may have added more.
        let columns: Int
        /// The columns that always hold text, and those that always hold an integer.
        let texts: [Int]
        let integers: [Int]
    }

    /// A page below another one, and the largest key in it.
    struct Child {
        let page: Int
        let lastKey: Int64
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    // MARK: Interior pages

    /// - Precondition: there are children, and their cells fit.
    init(joining children: [Child], size: Int) {
        var bytes = [UInt8](repeating: 0, count: size)
        var end = size
        for (index, child) in children.dropLast().enumerated() {
            let cell = Self.bytes(of: child.page, 4) + Self.varint(child.lastKey)
            end -= cell.count
            bytes.replaceSubrange(end..<end + cell.count, with: cell)
            bytes.replaceSubrange(12 + 2 * index..<14 + 2 * index, with: Self.bytes(of: end, 2))
        }
        bytes[0] = Self.interior
        bytes.replaceSubrange(3..<5, with: Self.bytes(of: children.count - 1, 2))
        bytes.replaceSubrange(5..<7, with: Self.bytes(of: end, 2))
        bytes.replaceSubrange(8..<12, with: Self.bytes(of: children[children.count - 1].page, 4))
        self.bytes = bytes
    }

    private static let interior: UInt8 = 5
    private static let leaf: UInt8 = 13

    // MARK: Leaves

    /// The smallest and the largest key of a leaf whose rows all have a shape; nil for any other page.
    func keys(of shape: Shape) -> ClosedRange<Int64>? {
        guard bytes[0] == Self.leaf else { return nil }
        let cells = Self.number(bytes, at: 3, bytes: 2)
        guard cells > 0, 8 + 2 * cells <= bytes.count else { return nil }
        var first: Int64?
        var last: Int64 = 0
        for cell in 0..<cells {
            var place = Self.number(bytes, at: 8 + 2 * cell, bytes: 2)
            guard place >= 8, varint(&place) != nil, let key = varint(&place), key > last, key < Self.largestKey,
                has(shape, at: place)
            else { return nil }
            first = first ?? key
            last = key
        }
        return first.map { $0...last }
    }

    /// No device writes so much; a larger key is damage.
    private static let largestKey: Int64 = 1 << 48

    /// Whether the header of a record names such columns (https://sqlite.org/fileformat2.html#record_format).
    private func has(_ shape: Shape, at start: Int) -> Bool {
        var place = start
        guard let length = varint(&place), length > 0, length < bytes.count - start else { return false }
        var types: [Int64] = []
        while place < start + Int(length), let type = varint(&place) { types.append(type) }
        // The key stands in front of the record, which has a null in its place.
        return types.count >= shape.columns && types.first == 0
            && shape.texts.allSatisfy { types[$0] >= 13 && types[$0] % 2 == 1 }
            && shape.integers.allSatisfy { (1...9).contains(types[$0]) && types[$0] != 7 }
    }

    // MARK: Numbers

    private func varint(_ place: inout Int) -> Int64? {
        var value: Int64 = 0
        for index in 0..<9 {
            guard place < bytes.count else { return nil }
            let byte = bytes[place]
            place += 1
            if index == 8 { return value << 8 | Int64(byte) }
            value = value << 7 | Int64(byte & 0x7F)
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    /// Of a positive number below 2^56.
    private static func varint(_ number: Int64) -> [UInt8] {
        var groups = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            groups.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return groups.reversed()
    }

    static func number(_ bytes: [UInt8], at offset: Int, bytes count: Int) -> Int {
        bytes[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
    }

    static func bytes(of number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * (count - 1 - $0))) }
    }
}
