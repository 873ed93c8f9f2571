/// One key of a sort order: a term and a direction. Missing values come first in ascending order.
public struct RecordOrder: Hashable, Sendable {
    /// The part of the record to sort by.
    public let term: RecordTerm
    /// Whether greater values come first, and missing values last.
    public let isDescending: Bool

    /// Creates a key, ascending by default.
    public init(_ term: RecordTerm, descending: Bool = false) {
        self.term = term
        isDescending = descending
    }

    /// Sorts by id. Ids that a device made sort by the time of their creation; ids of imported records have an
    /// arbitrary order.
    public static let id = RecordOrder(.id)
    /// Sorts by uid, with records without a uid first.
    public static let uid = RecordOrder(.uid)

    /// Sorts by a field in ascending order, with records without a value first.
    public static func field(_ name: FieldName) -> RecordOrder { RecordOrder(.field(name)) }
}

extension [RecordOrder] {
    /// The keys of the corresponding total order: those up to the id, which is appended if it is missing.
    public var total: [RecordOrder] {
        if let end = firstIndex(where: { $0.term == .id }) { return Array(self[...end]) }
        return self + [.id]
    }

    /// Returns whether the left record comes before the right one.
    package func precedes(_ left: Record, _ right: Record, schema: ModelSchema) -> Bool {
        for key in total {
            let order = key.term.value(in: left, schema: schema).compare(to: key.term.value(in: right, schema: schema))
            if order != 0 { return key.isDescending ? order > 0 : order < 0 }
        }
        return false
    }
}

/// A position in a sorted list of records: the values of the sort keys in the record that was read last.
///
/// A page that begins after a cursor neither repeats nor skips a record when other records are added or removed.
public struct RecordCursor: Hashable, Sendable {
    /// One value per key of the total order; the last is the id.
    public let values: [FieldValue]

    /// Creates a cursor from the stored `values` of an earlier one, for a query with the same order.
    public init(values: [FieldValue]) {
        self.values = values
    }

    /// Creates the cursor for the position of a record in a list that is sorted by these keys.
    public init(of record: Record, orders: [RecordOrder], schema: ModelSchema) {
        values = orders.total.map { $0.term.value(in: record, schema: schema) }
    }

    /// Returns the filter for the records after this position; nil if the order has another number of keys.
    public func filter(orders: [RecordOrder]) -> RecordFilter? {
        let keys = orders.total
        guard keys.count == values.count else { return nil }
        var alternatives: [RecordFilter] = []
        for position in keys.indices {
            guard let beyond = Self.beyond(keys[position], values[position]) else { continue }
            let equal = (0..<position).map { RecordFilter.compare(keys[$0].term, .equal, values[$0]) }
            alternatives.append(equal.isEmpty ? beyond : .all(equal + [beyond]))
        }
        let all = RecordFilter.any(alternatives)
        // The alternatives imply this condition. It is added because an index on the first key can use it.
        guard let first = keys.first, let value = values.first, !value.isNull, !first.isDescending else { return all }
        return .all([.compare(first.term, .greaterOrEqual, value), all])
    }

    /// Returns the filter for the values that come after this one by a single key; nil if no value does.
    private static func beyond(_ key: RecordOrder, _ value: FieldValue) -> RecordFilter? {
        switch (key.isDescending, value.isNull) {
        case (false, false): .compare(key.term, .greater, value)
        case (false, true): .compare(key.term, .notEqual, .null)
        case (true, false):
            if case .field = key.term {
                .any([.compare(key.term, .less, value), .compare(key.term, .equal, .null)])
            } else {
                .compare(key.term, .less, value)
            }
        case (true, true): nil
        }
    }
}
