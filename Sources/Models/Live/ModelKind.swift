public import SyncModel

/// What the live objects need to know of one model: its schema, and the rules that a schema cannot express.
public struct ModelKind: Sendable {
    public let schema: ModelSchema
    /// Throws when values that are about to be written break a rule. Fields that are not named are not touched.
    public let check: @Sendable (Patch) throws(ModelFailure) -> Void

    public init(_ schema: ModelSchema, check: @escaping @Sendable (Patch) throws(ModelFailure) -> Void = { _ in }) {
        self.schema = schema
        self.check = check
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
