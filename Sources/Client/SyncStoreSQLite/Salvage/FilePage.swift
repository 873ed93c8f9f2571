import SQLiteDatabase

/// A page of a table's B-tree, except page 1 of the file (https://sqlite.org/fileformat2.html#b_tree_pages).
struct FilePage {
    let bytes: [UInt8]

    /// The column types by which the rows of a table are recognized.
    struct Shape {
        /// The minimum number of columns.
        private(set) var columns = 0
        /// The indices of the columns that always hold text.
        private(set) var texts: [Int] = []
        /// The indices of the columns that always hold an integer.
        private(set) var integers: [Int] = []
        /// The indices of the columns that hold an integer or NULL.
        private(set) var optionalIntegers: [Int] = []

        /// Reads the definition of a table whose first column is its integer key.
        init(of table: String, in connection: Connection) throws {
            // The rows are: position, name, type, whether NOT NULL, default, position in the key.
            let columns = try connection.prepare("PRAGMA table_info(\(table))").rows {
                (type: $0.text(2), isRequired: $0.integer(3) != 0, hasDefault: !$0.isNull(4))
            }
            for (index, column) in columns.enumerated().dropFirst() {
                switch (column.type, column.isRequired) {
                case ("TEXT", true): texts.append(index)
                case ("INTEGER", true): integers.append(index)
                case ("INTEGER", false): optionalIntegers.append(index)
                default: break
                }
                // A column that a migration has added is missing in older rows. It is nullable or has a default.
                if column.isRequired, !column.hasDefault { self.columns = index + 1 }
            }
        }
    }

    /// A child page, and the largest key in it.
    struct Child {
        let page: Int
        let lastKey: Int64
    }

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    // MARK: Interior pages

    /// Makes an interior page over child pages.
    ///
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

    /// Returns the smallest and largest key of a leaf whose rows all have the shape; nil for any other page.
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

    /// Keys from here on are treated as damage, because no device writes that many rows.
    static let largestKey: Int64 = 1 << 48

    /// Whether a record's header has the column types of the shape (https://sqlite.org/fileformat2.html#record_format).
    private func has(_ shape: Shape, at start: Int) -> Bool {
        var place = start
        guard let length = varint(&place), length > 0, length < bytes.count - start else { return false }
        var types: [Int64] = []
        while place < start + Int(length), let type = varint(&place) { types.append(type) }
        // The integer key is stored before the record, so the record has NULL in the column of the key.
        func hold(_ columns: [Int], _ isExpected: (Int64) -> Bool) -> Bool {
            columns.allSatisfy { $0 >= types.count || isExpected(types[$0]) }
        }
        return types.count >= shape.columns && types.first == 0
            && hold(shape.texts) { $0 >= 13 && $0 % 2 == 1 }
            && hold(shape.integers) { (1...9).contains($0) && $0 != 7 }
            && hold(shape.optionalIntegers) { (0...9).contains($0) && $0 != 7 }
    }

    /// A row with the key 1, whose only other column is text.
    struct OnlyText {
        /// The offset of the payload in the page, in bytes.
        let start: Int
        /// The length of the payload in bytes, including its header.
        let payload: Int
        /// The length of the payload's header in bytes.
        let header: Int
    }

    /// Returns the row of a leaf whose only row has this form; nil for any other page.
    func onlyText() -> OnlyText? {
        guard bytes[0] == Self.leaf, Self.number(bytes, at: 3, bytes: 2) == 1 else { return nil }
        var place = Self.number(bytes, at: 8, bytes: 2)
        guard place >= 8, let payload = varint(&place), let key = varint(&place), key == 1 else { return nil }
        let start = place
        guard let header = varint(&place), let first = varint(&place), first == 0, let type = varint(&place),
            header == place - start, type >= 13, type % 2 == 1,
            payload == header + (type - 13) / 2
        else { return nil }
        return OnlyText(start: start, payload: Int(clamping: payload), header: Int(clamping: header))
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

    /// Returns the varint of a positive number below 2^56.
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
