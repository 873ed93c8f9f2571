extension SchemaCatalog {
    /// Returns these models with the collections and fields of `others` that they lack, in their order after the own
    /// ones.
    ///
    /// - Throws: the name of a field, as `collection.field`, that has another type or target in `others`.
    package func adding(_ others: SchemaCatalog) throws(FieldMismatch) -> SchemaCatalog {
        var result: [ModelSchema] = []
        for model in models {
            guard let other = others[model.collection] else {
                result.append(model)
                continue
            }
            for field in other.fields {
                guard let own = model.field(named: field.name) else { continue }
                guard own.type == field.type, own.target == field.target else {
                    throw FieldMismatch(name: "\(model.collection).\(field.name)")
                }
            }
            let missing = other.fields.filter { model.field(named: $0.name) == nil }
            guard !missing.isEmpty else {
                result.append(model)
                continue
            }
            result.append(
                ModelSchema(
                    collection: model.collection, fields: model.fields + missing, deleteRule: model.deleteRule))
        }
        return SchemaCatalog(result + others.models.filter { self[$0.collection] == nil })
    }

    /// A field that two catalogs declare with different types or targets.
    package struct FieldMismatch: Error {
        package let name: String
    }
}
