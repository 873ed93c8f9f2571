import SyncModel

/// The rules for the names of collections and fields.
enum ModelNames {
    /// Names of members of every live object, in snake case. A model's property with such a name could not be read,
    /// because the member has precedence.
    static let members: Set<String> = [
        "arrival", "create", "delete", "description", "edits", "fields", "hash", "hash_value", "id", "is_pending",
        "is_valid", "load", "presence", "refer", "revert", "save", "snapshot", "snapshots", "space", "sync", "uid",
        "updates", "version",
    ]

    /// Prefixes of the names that SQLite and the local store use themselves.
    private static let prefixes = ["sync_", "sqlite_"]

    static func collection<M: Model>(of type: M.Type) throws(ModelDeclarationError) -> CollectionName {
        let name = M.collection
        guard let collection = CollectionName(rawValue: name) else {
            throw ModelDeclarationError(
                .invalidName, collection: name, advice(on: name, of: "the collection of \(M.self)"))
        }
        if let prefix = prefixes.first(where: name.hasPrefix) {
            throw ModelDeclarationError(
                .reservedName, collection: name,
                "the collection of \(M.self) is called '\(name)'; \(prefix) is reserved")
        }
        return collection
    }

    static func field(_ name: String, in collection: String) throws(ModelDeclarationError) -> FieldName {
        guard let field = FieldName(rawValue: name) else {
            throw ModelDeclarationError(
                .invalidName, collection: collection, field: name, advice(on: name, of: "a field of \(collection)"))
        }
        let isReserved = ModelSchema.reservedNames.contains(name) || prefixes.contains(where: name.hasPrefix)
        if isReserved || members.contains(name) {
            let owner =
                isReserved ? "the database uses this name itself" : "every live object has a member of this name"
            throw ModelDeclarationError(
                .reservedName, collection: collection, field: name,
                "\(collection).\(name): \(owner); choose another, such as '\(collection)_\(name)'")
        }
        return field
    }

    private static func advice(on name: String, of owner: String) -> String {
        let expected = "expected a lower-case letter, then up to 62 lower-case letters, digits, or underscores"
        let valid = snakeCase(name)
        let hint = FieldName(rawValue: valid) == nil ? "" : "; write '\(valid)'"
        return "'\(name)' is not a valid name for \(owner): \(expected)\(hint)"
    }

    /// Returns the name in snake case: `is_done` for `isDone`.
    private static func snakeCase(_ name: String) -> String {
        var result = ""
        for character in name {
            if character.isUppercase {
                if !result.isEmpty, result.last != "_" { result += "_" }
                result += character.lowercased()
            } else {
                result.append(character == "-" || character == " " ? "_" : character)
            }
        }
        return result
    }
}
