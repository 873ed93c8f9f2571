extension FieldValue {
    /// Compares two values as SQLite does: null first, then numbers, then texts by their bytes, then references.
    ///
    /// - Returns: a negative number, zero, or a positive number.
    package func compare(to other: FieldValue) -> Int {
        switch (self, other) {
        case (.integer(let left), .integer(let right)): Self.sign(left, right)
        case (.text(let left), .text(let right)), (.json(let left), .json(let right)),
            (.text(let left), .json(let right)),
            (.json(let left), .text(let right)):
            Self.sign(left.utf8, right.utf8)
        case (.reference(let left), .reference(let right)): Self.sign(left, right)
        default:
            if let left = number, let right = other.number {
                Self.sign(left, right)
            } else {
                Self.sign(rank, other.rank)
            }
        }
    }

    private var number: Double? {
        switch self {
        case .boolean(let value): value ? 1 : 0
        case .integer(let value): Double(value)
        case .real(let value): value
        case .null, .text, .json, .reference: nil
        }
    }

    private var rank: Int {
        switch self {
        case .null: 0
        case .boolean, .integer, .real: 1
        case .text, .json: 2
        case .reference: 3
        }
    }

    private static func sign<Value: Comparable>(_ left: Value, _ right: Value) -> Int {
        left < right ? -1 : left == right ? 0 : 1
    }

    private static func sign(_ left: String.UTF8View, _ right: String.UTF8View) -> Int {
        if left.lexicographicallyPrecedes(right) { return -1 }
        return left.elementsEqual(right) ? 0 : 1
    }
}
