public import SyncModel

/// A field that holds references.
public struct ReferenceField: Hashable, Sendable {
    /// The collection with the field.
    public let collection: CollectionName
    /// The name of the field.
    public let field: FieldName

    /// Creates the name of a field that holds references.
    public init(_ collection: CollectionName, _ field: FieldName) {
        self.collection = collection
        self.field = field
    }
}

/// A record that refers to another one through one of its fields.
public struct Referrer: Hashable, Sendable {
    /// The record that contains the reference.
    public let address: RecordAddress
    /// The field that contains the reference.
    public let field: FieldName

    /// Creates the place of a reference.
    public init(_ address: RecordAddress, _ field: FieldName) {
        self.address = address
        self.field = field
    }
}
