public import SyncModel

/// The part of a model's declaration that live objects use.
public struct ModelKind: Sendable {
    public let schema: ModelSchema

    /// - Parameter schema: The schema with all rules of the model. Client and server check the same rules.
    public init(_ schema: ModelSchema) {
        self.schema = schema
    }

    public var collection: CollectionName { schema.collection }
}

/// A field and its position among the values, which is looked up once, when the model is first used.
public struct ModelField: Hashable, Sendable {
    public let name: FieldName
    let position: Int
    let target: CollectionName?
}

extension ModelSchema {
    /// Returns the field with this name. Traps when there is none, which is a programming error in the schema.
    public func handle(_ name: FieldName) -> ModelField {
        guard let position = position(of: name) else { preconditionFailure("\(collection) has no field \(name)") }
        return ModelField(name: name, position: position, target: fields[position].target)
    }
}
