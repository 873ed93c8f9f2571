/// One key of a sort order: a term and a direction. Missing values come first in ascending order, unless they count as
/// another value.
public struct RecordOrder: Hashable, Sendable {
    /// The part of the record to sort by.
    public let term: RecordTerm
    /// Whether greater values come first, and missing values last.
    public let isDescending: Bool
    /// The value as which a missing one counts; null if it counts as missing.
    public let missing: FieldValue

    /// Creates a key, ascending by default.
    ///
    /// - Parameter missing: the value as which a missing one counts, such as the default of a field.
    public init(_ term: RecordTerm, descending: Bool = false, missing: FieldValue = .null) {
        self.term = term
        isDescending = descending
        self.missing = missing
    }

    /// Sorts by id. Ids that a device made sort by the time of their creation; ids of imported records have an
    /// arbitrary order.
    public static let id = RecordOrder(.id)
    /// Sorts by uid, with records without a uid first.
    public static let uid = RecordOrder(.uid)

    /// Sorts by a field in ascending order, with records without a value first.
    public static func field(_ name: FieldName) -> RecordOrder { RecordOrder(.field(name)) }

    /// Returns the value by which a record is sorted.
    fileprivate func value(in record: Record, schema: ModelSchema) -> FieldValue {
        let value = term.value(in: record, schema: schema)
        return value.isNull ? missing : value
    }

    /// Returns the filter for the records with this value.
    fileprivate func equal(to value: FieldValue) -> RecordFilter {
        let equal = RecordFilter.compare(term, .equal, value)
        guard !missing.isNull, missing.compare(to: value) == 0 else { return equal }
        return .any([equal, .compare(term, .equal, .null)])
    }

    /// Returns the filter for the records that come after this value by this key; nil if no record does.
    fileprivate func beyond(_ value: FieldValue) -> RecordFilter? {
        if value.isNull { return isDescending ? nil : .compare(term, .notEqual, .null) }
        let order = missing.compare(to: value)
        let beyond = RecordFilter.compare(term, isDescending ? .less : .greater, value)
        guard isDescending ? order < 0 : order > 0, case .field = term else { return beyond }
        return .any([beyond, .compare(term, .equal, .null)])
    }
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
            let order = key.value(in: left, schema: schema).compare(to: key.value(in: right, schema: schema))
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
        values = orders.total.map { $0.value(in: record, schema: schema) }
    }

    /// Returns the filter for the records after this position; nil if the order has another number of keys.
    public func filter(orders: [RecordOrder]) -> RecordFilter? {
        let keys = orders.total
        guard keys.count == values.count else { return nil }
        var alternatives: [RecordFilter] = []
        for position in keys.indices {
            guard let beyond = keys[position].beyond(values[position]) else { continue }
            let equal = (0..<position).map { keys[$0].equal(to: values[$0]) }
            alternatives.append(equal.isEmpty ? beyond : .all(equal + [beyond]))
        }
        let all = RecordFilter.any(alternatives)
        // The alternatives imply this condition. It is added because an index on the first key can use it.
        guard let first = keys.first, let value = values.first, !value.isNull, !first.isDescending,
            first.missing.compare(to: value) < 0
        else { return all }
        return .all([.compare(first.term, .greaterOrEqual, value), all])
    }
}
