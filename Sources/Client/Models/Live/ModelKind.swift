public import SyncModel

/// The part of a model's declaration that live objects use.
public struct ModelKind: Sendable {
    public let schema: ModelSchema

    /// - Parameter schema: with all rules of the model: what a client checks, the server checks, too.
    public init(_ schema: ModelSchema) {
        self.schema = schema
    }

    public var collection: CollectionName { schema.collection }
}

/// A field with its place among the values: looked up once, when the model is first used.
public struct ModelField: Hashable, Sendable {
    public let name: FieldName
    let position: Int
    let target: CollectionName?
}

extension ModelSchema {
    /// Traps when there is no such field: it is named by the programmer who wrote the schema.
    public func handle(_ name: FieldName) -> ModelField {
        guard let position = position(of: name) else { preconditionFailure("\(collection) has no field \(name)") }
        return ModelField(name: name, position: position, target: fields[position].target)
    }
}
