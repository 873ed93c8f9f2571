import SyncModel

extension FieldDeclaration {
    /// Returns the schema of the field, which engine, stores, and server use.
    func schema(in collection: String) throws(ModelDeclarationError) -> FieldSchema {
        let field = try ModelNames.field(name, in: collection)
        var isRequired = false
        var isIndexed = false
        var merge = MergeRule.latestEdit
        var bytes = 0...SchemaLimits.textBytes
        var rule: FieldRule?
        var bounds: FieldBounds?
        for setting in settings {
            switch setting {
            case .required: isRequired = true
            case .indexed: isIndexed = true
            case .merge(let chosen): merge = chosen
            case .length(let limits): bytes = limits
            case .rule(let chosen):
                guard rule == nil else {
                    throw ModelDeclarationError(
                        .invalidLimit, collection: collection, field: name,
                        "\(collection).\(name) has two rules; expected one, which checks everything")
                }
                rule = chosen
            case .bounds(let limits): bounds = limits
            }
        }
        guard bytes.lowerBound >= 0, bytes.upperBound <= SchemaLimits.textBytes else {
            throw ModelDeclarationError(
                .invalidLimit, collection: collection, field: name,
                "\(collection).\(name) has the length \(bytes) bytes; expected a range within 0...\(SchemaLimits.textBytes)"
            )
        }
        if case .real(let range)? = bounds, !range.lowerBound.isFinite || !range.upperBound.isFinite {
            throw ModelDeclarationError(
                .invalidLimit, collection: collection, field: name,
                "\(collection).\(name) has the range \(range.lowerBound) to \(range.upperBound); expected finite numbers"
            )
        }
        var schema: FieldSchema
        switch type {
        case .boolean: schema = .boolean(field, required: isRequired, merge: merge)
        case .integer: schema = .integer(field, required: isRequired, merge: merge)
        case .real: schema = .real(field, required: isRequired, merge: merge)
        case .text: schema = .text(field, required: isRequired, bytes: bytes, rule: rule, merge: merge)
        case .json: schema = .json(field, required: isRequired, bytes: bytes, rule: rule, merge: merge)
        case .reference:
            guard let target else {
                throw ModelDeclarationError(
                    .unknownTarget, collection: collection, field: name, "\(collection).\(name) refers to no model")
            }
            schema = .reference(
                field, to: try Self.collection(of: target), required: isRequired, merge: merge)
        }
        if let bounds { schema = schema.bounded(by: bounds) }
        if isIndexed { schema = schema.indexed() }
        if isDate { schema = schema.holdingDates() }
        return try withDefault(schema, in: collection)
    }

    private func withDefault(_ schema: FieldSchema, in collection: String) throws(ModelDeclarationError) -> FieldSchema
    {
        if let defaultProblem {
            throw ModelDeclarationError(
                .invalidDefault, collection: collection, field: name,
                "the default of \(collection).\(name) cannot be stored: \(defaultProblem)")
        }
        guard !defaultValue.isNull else { return schema }
        let value = schema.normalized(defaultValue)
        if let problem = schema.problem(with: value) {
            let error = InvalidValueError(
                collection: CollectionName(unchecked: collection), field: schema.name, problem: problem)
            throw ModelDeclarationError(
                .invalidDefault, collection: collection, field: name,
                """
                the default breaks the field's own limits: \(error). Give the field a default that meets them, make it \
                required, or make its type optional
                """)
        }
        return schema.defaulting(to: value)
    }

    private static func collection(of type: any Model.Type) throws(ModelDeclarationError) -> CollectionName {
        func name<M: Model>(_ type: M.Type) throws(ModelDeclarationError) -> CollectionName {
            try ModelNames.collection(of: type)
        }
        return try name(type)
    }
}
