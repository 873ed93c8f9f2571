public import SyncCore
public import SyncModel

extension RecordQuery {
    /// Returns the records that match this query, in its order. For sources without a database.
    public func matches(among records: some Sequence<Record>, schema: ModelSchema) -> [Record] {
        let wanted = conditions.map { (position: schema.position(of: $0.field), value: $0.equals) }
        let found = records.filter { record in
            wanted.allSatisfy { condition in
                condition.position.map { record.values[$0] == condition.value } ?? false
            }
        }
        let sorted = found.sorted { left, right in precedes(left, right, schema: schema) }
        return Array(sorted.dropFirst(max(0, offset)).prefix(limit.map { max(0, $0) } ?? .max))
    }

    private func precedes(_ left: Record, _ right: Record, schema: ModelSchema) -> Bool {
        switch order {
        case .id: return left.id < right.id
        case .uid: return (left.uid, left.id) < (right.uid, right.id)
        case .field(let name):
            guard let position = schema.position(of: name) else { return left.id < right.id }
            let (first, second) = (left.values[position].rank, right.values[position].rank)
            return first == second ? left.id < right.id : first < second
        }
    }
}

extension FieldValue {
    /// Orders values as SQLite does: null, then numbers, then text by its bytes.
    fileprivate var rank: Rank {
        switch self {
        case .null: Rank(kind: 0)
        case .boolean(let value): Rank(kind: 1, number: value ? 1 : 0)
        case .integer(let value): Rank(kind: 1, number: Double(value), integer: value)
        case .real(let value): Rank(kind: 1, number: value)
        case .text(let value), .json(let value): Rank(kind: 2, bytes: Array(value.utf8))
        case .reference(let id): Rank(kind: 3, bytes: id.bits.withBytes { Array($0) })
        }
    }

    fileprivate struct Rank: Comparable {
        var kind: Int
        var number = 0.0
        var integer: Int64 = 0
        var bytes: [UInt8] = []

        static func < (left: Rank, right: Rank) -> Bool {
            if left.kind != right.kind { return left.kind < right.kind }
            if left.number != right.number { return left.number < right.number }
            if left.integer != right.integer { return left.integer < right.integer }
            return left.bytes.lexicographicallyPrecedes(right.bytes)
        }
    }
}
