/// New values for some fields of one record, ordered by field name.
public struct Patch: Hashable, Sendable {
    private var entries: [(field: FieldName, value: FieldValue)] = []

    /// Creates a patch that changes no field.
    public init() {}

    /// Sets the value of a field in its canonical form, replacing an earlier value for the same field.
    public mutating func set(_ field: FieldName, to value: FieldValue) {
        let value = value.canonical
        switch index(of: field) {
        case .found(let index): entries[index].value = value
        case .absent(entries.count): entries.append((field, value))
        case .absent(let index): entries.insert((field, value), at: index)
        }
    }

    /// Removes a field from the patch, so that the patch no longer changes it. Does nothing when the field is absent.
    public mutating func remove(_ field: FieldName) {
        if case .found(let index) = index(of: field) { entries.remove(at: index) }
    }

    /// The new value of a field; nil when the patch does not change it. A patch that clears the field has `.null`.
    public subscript(field: FieldName) -> FieldValue? {
        if case .found(let index) = index(of: field) { entries[index].value } else { nil }
    }

    /// The patch without the fields that it clears.
    ///
    /// A create of a record that exists is merged by these alone: a field that it leaves empty is not cleared.
    package var withoutNulls: Patch {
        var patch = Patch()
        patch.entries = entries.filter { !$0.value.isNull }
        return patch
    }

    public var isEmpty: Bool { entries.isEmpty }

    public static func == (left: Patch, right: Patch) -> Bool {
        left.entries.elementsEqual(right.entries) { $0.field == $1.field && $0.value == $1.value }
    }

    public func hash(into hasher: inout Hasher) {
        for entry in entries {
            hasher.combine(entry.field)
            hasher.combine(entry.value)
        }
    }

    private enum Place {
        case found(Int)
        case absent(Int)
    }

    /// Returns the position of a field. It tries the end first, because fields from the wire and from the store are
    /// sorted.
    private func index(of field: FieldName) -> Place {
        guard let last = entries.last, field <= last.field else { return .absent(entries.count) }
        var (low, high) = (0, entries.count)
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].field < field { low = middle + 1 } else { high = middle }
        }
        return entries[low].field == field ? .found(low) : .absent(low)
    }
}

extension Patch: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (FieldName, FieldValue)...) {
        for (field, value) in elements { set(field, to: value) }
    }
}

extension Patch: RandomAccessCollection {
    public var startIndex: Int { entries.startIndex }
    public var endIndex: Int { entries.endIndex }

    public subscript(position: Int) -> (field: FieldName, value: FieldValue) {
        entries[position]
    }
}

extension Patch: CustomStringConvertible {
    public var description: String {
        "{" + map { "\($0.field): \($0.value)" }.joined(separator: ", ") + "}"
    }
}
