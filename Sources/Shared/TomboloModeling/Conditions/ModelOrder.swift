package import SyncModel

/// One key of the order of a query: `$0.due.ascending`. Records without a value come first in ascending order.
public struct ModelOrder<M: Model>: Hashable, Sendable {
    package let order: RecordOrder
    package let problem: ModelDeclarationError?

    fileprivate init(_ key: FieldKey, descending: Bool) {
        order = RecordOrder(.field(key.name), descending: descending)
        problem = key.problem(in: M.collection)
    }
}

extension ModelField {
    /// The smallest values first.
    public var ascending: ModelOrder<M> { ModelOrder(key, descending: false) }
    /// The largest values first.
    public var descending: ModelOrder<M> { ModelOrder(key, descending: true) }
}
