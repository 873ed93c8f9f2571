import SyncCore
import SyncModel

/// Writes records of one collection, for the commands and for the page of `syncctl inspect`.
struct RecordWriter {
    let schema: ModelSchema
    let store: any LocalStore
    let runtime: EngineRuntime

    /// Creates a record.
    ///
    /// - Parameter space: the record's space; nil for the space of the first record that it refers to, or `default` if
    ///   there is none.
    func create(_ values: Patch, in space: SpaceID?) throws -> RecordID {
        let patch = schema.withDefaults(values)
        var random = runtime.generator
        let id = RecordID.make(at: runtime.now(), random: &random)
        let home = try space ?? targetSpaces(of: patch).first?.space ?? .default
        try requireTargets(of: patch, in: home)
        _ = try store.commit([.create(schema.collection, id, patch)], in: home, now: runtime.now())
        return id
    }

    /// Changes fields of a record.
    ///
    /// - Returns: the place of the transaction in the outbox; nil when the record has these values already.
    func update(_ id: RecordID, _ patch: Patch) throws -> OutboxSequence? {
        let home = try space(of: id)
        try requireTargets(of: patch, in: home)
        return try store.commit([.update(schema.collection, id, patch)], in: home, now: runtime.now())
    }

    /// Deletes records of one space, together or not at all.
    func delete(_ ids: [RecordID]) throws {
        // If a sync has removed a record in the meantime, the record has no space, and the commit fails.
        let spaces = Set(try ids.compactMap { try store.space(of: schema.collection, $0) })
        guard spaces.count <= 1 else {
            throw CommandError(
                .failed,
                "the records are in the spaces \(spaces.map(\.rawValue).sorted().joined(separator: ", ")); expected records of one space",
                advice: "delete the records of each space in a separate command")
        }
        let edits = ids.map { RecordEdit.delete(schema.collection, $0) }
        _ = try store.commit(edits, in: spaces.first ?? .default, now: runtime.now())
    }

    /// Returns the space of a record. If a sync has removed the record in the meantime, returns `default`, and the
    /// commit fails.
    func space(of id: RecordID) throws(StoreError) -> SpaceID {
        try store.space(of: schema.collection, id) ?? .default
    }

    /// Returns the references of a patch whose targets are on this device, with the spaces of the targets.
    private func targetSpaces(of patch: Patch) throws -> [(field: FieldSchema, target: RecordAddress, space: SpaceID)] {
        try patch.compactMap { name, value in
            guard case .reference(let id) = value, let field = schema.field(named: name), let target = field.target,
                let space = try store.space(of: target, id)
            else { return nil }
            return (field, RecordAddress(target, id), space)
        }
    }

    /// Throws if a reference leads to another space.
    private func requireTargets(of patch: Patch, in space: SpaceID) throws {
        for (field, target, home) in try targetSpaces(of: patch) where home != space {
            let record = try store.record(target.collection, .id(target.id))
            let name = record.map { RecordShape.name(of: $0, target.collection, store.catalog) } ?? "\(target.id)"
            throw CommandError(
                .failed,
                "\(schema.collection).\(field.name): \(target.collection) \(name) is in the space \(home), and this \(schema.collection) in the space \(space)",
                advice: "a record can only refer to records of its own space", field: field.name)
        }
    }
}

extension SchemaCatalog {
    /// Returns the schema of a collection.
    ///
    /// - Throws: when the database has no such collection, with the most similar name as advice.
    func schema(named name: String) throws(CommandError) -> ModelSchema {
        let names = models.map(\.collection.rawValue)
        guard let collection = CollectionName(rawValue: name), let schema = self[collection] else {
            throw CommandError(
                .usage, "this database has no collection '\(name.prefix(64))'",
                advice: NearestName.suggestion(for: name, among: names).map { "did you mean \($0)?" }
                    ?? "the collections are " + names.joined(separator: ", "))
        }
        return schema
    }
}
