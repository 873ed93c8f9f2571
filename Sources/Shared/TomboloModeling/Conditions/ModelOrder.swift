package import SyncModel

/// One key of the order of a query: `$0.due.ascending`.
///
/// If an optional field has no value, the record comes first in ascending order. In any other field, a missing value
/// counts as the default of the field.
public struct ModelOrder<M: Model>: Hashable, Sendable {
    package let order: RecordOrder
    package let problem: ModelDeclarationError?

    fileprivate init(_ key: FieldKey, missing: FieldValue, descending: Bool) {
        order = RecordOrder(.field(key.name), descending: descending, missing: missing)
        problem = key.problem(in: M.collection)
    }
}

extension ModelField {
    /// The smallest values first.
    public var ascending: ModelOrder<M> { ModelOrder(key, missing: missing, descending: false) }
    /// The largest values first.
    public var descending: ModelOrder<M> { ModelOrder(key, missing: missing, descending: true) }
}
