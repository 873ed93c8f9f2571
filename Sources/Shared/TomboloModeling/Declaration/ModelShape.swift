package import SyncModel

/// A model whose fields are registered and checked: the shape and the schema that follows from it.
public final class ModelShape<M: Model>: Sendable {
    /// The shape, for access to its fields.
    public let fields: M
    package let schema: ModelSchema
    /// The models to which the references of the model lead, with the names of the fields.
    let targets: [(field: String, model: any Model.Type)]

    /// Runs the initializer of the model, and checks what it declares.
    public init(_ type: M.Type) throws(ModelDeclarationError) {
        let (shape, declarations) = SchemaBuilder.collect(type)
        let collection = try ModelNames.collection(of: type)
        guard declarations.count <= SchemaLimits.fields else {
            throw ModelDeclarationError(
                .tooManyFields, collection: M.collection,
                """
                \(M.collection) has \(declarations.count) fields; at most \(SchemaLimits.fields) are allowed. Move some to \
                another model, or into one JSON field
                """)
        }
        var names: Set<String> = []
        var fields: [FieldSchema] = []
        for declaration in declarations {
            guard names.insert(declaration.name).inserted else {
                throw ModelDeclarationError(
                    .duplicateField, collection: M.collection, field: declaration.name,
                    "\(M.collection) declares the field \(declaration.name) twice; give each field its own name")
            }
            fields.append(try declaration.schema(in: M.collection))
        }
        self.fields = shape
        schema = ModelSchema(collection: collection, fields: fields, deleteRule: M.deleteRule)
        targets = declarations.compactMap { declaration in declaration.target.map { (declaration.name, $0) } }
    }
}
