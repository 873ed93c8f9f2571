public import SyncModel

/// The models of an application, registered and checked.
///
/// A client and a server each make one from the same list of models. The order of the list has no meaning.
public struct ModelCatalog: Sendable {
    /// The schemas that follow from the models.
    public let schemas: SchemaCatalog
    private let shapes: [ObjectIdentifier: any Sendable]
    private let types: [CollectionName: any Model.Type]

    /// A catalog without models.
    package init() {
        schemas = SchemaCatalog([])
        shapes = [:]
        types = [:]
    }

    /// Registers and checks the models.
    ///
    /// - Throws: `ModelDeclarationError`, which names the model, the field, what was expected, and what to do.
    public init(_ models: [any Model.Type]) throws(ModelDeclarationError) {
        var shapes: [ObjectIdentifier: any Sendable] = [:]
        var schemas: [ModelSchema] = []
        var owners: [CollectionName: any Model.Type] = [:]
        var targets: [(collection: String, field: String, model: any Model.Type)] = []

        func add<M: Model>(_ type: M.Type) throws(ModelDeclarationError) {
            let shape = try ModelShape(type)
            let collection = shape.schema.collection
            if let other = owners[collection] {
                // The same model twice is no contradiction.
                guard ObjectIdentifier(other) != ObjectIdentifier(type) else { return }
                throw ModelDeclarationError(
                    .duplicateCollection, collection: M.collection,
                    "\(other) and \(type) both have the collection '\(M.collection)'; give each model its own")
            }
            owners[collection] = type
            schemas.append(shape.schema)
            shapes[ObjectIdentifier(type)] = shape
            targets += shape.targets.map { (M.collection, $0.field, $0.model) }
        }
        for model in models { try add(model) }
        for target in targets where shapes[ObjectIdentifier(target.model)] == nil {
            throw ModelDeclarationError(
                .unknownTarget, collection: target.collection, field: target.field,
                """
                \(target.collection).\(target.field) refers to \(target.model), which is not in the list of models; add \
                \(target.model).self to it
                """)
        }
        self.shapes = shapes
        types = owners
        self.schemas = SchemaCatalog(schemas)
    }

    /// Returns the model of a collection; nil if no model has it.
    package func model(of collection: CollectionName) -> (any Model.Type)? { types[collection] }

    /// Returns the registered shape of a model.
    ///
    /// - Throws: `unknownModel` if the model is not in the list from which the catalog was made.
    package func shape<M: Model>(of type: M.Type) throws(ModelDeclarationError) -> ModelShape<M> {
        if let shape = shapes[ObjectIdentifier(type)] as? ModelShape<M> { return shape }
        let known = schemas.models.map(\.collection.rawValue)
        throw ModelDeclarationError(
            .unknownModel, collection: M.collection,
            """
            \(type) (collection '\(M.collection)') is not in the list of models; add \(type).self to it. The list has: \
            \(known.isEmpty ? "nothing" : known.joined(separator: ", "))
            """)
    }
}
