/// The declaration of one collection: the engine, the stores and the authority know a model by this alone.
public struct ModelSchema: Hashable, Sendable {
    public let collection: CollectionName
    /// In the order of the table's columns; new fields are added at the end.
    public let fields: [FieldSchema]
    public let deleteRule: DeleteRule
    private let positions: [FieldName: Int]

    /// Traps when two fields share a name or when there are too many: a schema is written by a programmer.
    public init(collection: CollectionName, fields: [FieldSchema], deleteRule: DeleteRule = .deleteWins) {
        precondition(fields.count <= SchemaLimits.fields, "\(collection) has more than \(SchemaLimits.fields) fields")
        var positions: [FieldName: Int] = [:]
        for (position, field) in fields.enumerated() {
            precondition(
                positions.updateValue(position, forKey: field.name) == nil, "\(collection).\(field.name) occurs twice")
            precondition(
                !Self.reservedNames.contains(field.name.rawValue), "\(collection).\(field.name) is a reserved name")
        }
        self.collection = collection
        self.fields = fields
        self.deleteRule = deleteRule
        self.positions = positions
    }

    /// Names that the stores use for columns of their own.
    public static let reservedNames: Set<String> = ["id", "uid", "version", "rowid", "oid"]

    /// Where the field stands in `fields` and in a record's values; nil when there is no such field.
    public func position(of field: FieldName) -> Int? {
        positions[field]
    }

    public func field(named name: FieldName) -> FieldSchema? {
        positions[name].map { fields[$0] }
    }

    /// Checks the values that a create brings: every field known, every value fitting, nothing required missing.
    public func check(creating patch: Patch) throws(InvalidValue) {
        try check(updating: patch)
        for field in fields where field.isRequired && patch[field.name] == nil {
            throw InvalidValue(collection: collection, field: field.name, problem: .missing)
        }
    }

    /// Checks the values that an update brings: every field known, every value fitting.
    public func check(updating patch: Patch) throws(InvalidValue) {
        for (name, value) in patch {
            guard let field = field(named: name) else {
                throw InvalidValue(collection: collection, field: name, problem: .unknownField)
            }
            if let problem = field.problem(with: value) {
                throw InvalidValue(collection: collection, field: name, problem: problem)
            }
        }
    }
}

/// All collections of an application, in a fixed order: referred-to collections need not come first.
public struct SchemaCatalog: Hashable, Sendable {
    public let models: [ModelSchema]
    private let positions: [CollectionName: Int]

    /// Traps when two models share a name or a reference names no collection: a catalog is written by a programmer.
    public init(_ models: [ModelSchema]) {
        var positions: [CollectionName: Int] = [:]
        for (position, model) in models.enumerated() {
            precondition(
                positions.updateValue(position, forKey: model.collection) == nil,
                "collection \(model.collection) occurs twice")
        }
        for model in models {
            for case let (field, target?) in model.fields.map({ ($0.name, $0.target) }) {
                precondition(
                    positions[target] != nil, "\(model.collection).\(field) refers to no collection: \(target)")
            }
        }
        self.models = models
        self.positions = positions
    }

    public subscript(collection: CollectionName) -> ModelSchema? {
        positions[collection].map { models[$0] }
    }
}
