/// The collections and fields that a server knows.
///
/// A device may be updated before its server. If it writes a collection or field that the server does not know yet, the
/// transaction waits in its outbox, with the name of that collection or field, until the server knows it.
public struct ServerModels: Hashable, Sendable {
    /// The names of the fields of each collection.
    public let fields: [CollectionName: Set<FieldName>]

    /// Creates the list from a server's hello.
    public init(_ fields: [CollectionName: Set<FieldName>]) {
        self.fields = fields
    }

    /// Lists all collections and fields of a catalog.
    public init(_ catalog: SchemaCatalog) {
        fields = Dictionary(
            uniqueKeysWithValues: catalog.models.map { ($0.collection, Set($0.fields.map(\.name))) })
    }

    /// Returns the first collection or field of the transaction that the server does not know, as `collection` or
    /// `collection.field`; nil when it knows all of them.
    public func firstUnknown(in transaction: Transaction) -> String? {
        for mutation in transaction.mutations {
            guard let known = fields[mutation.collection] else { return mutation.collection.rawValue }
            for (field, _) in mutation.patch where !known.contains(field) {
                return "\(mutation.collection).\(field)"
            }
        }
        return nil
    }
}
