import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// The commands over the records of one collection, of any application.
struct RecordAction {
    let schema: ModelSchema
    let client: ClientComposition
    let store: any LocalStore
    let terminal: Terminal

    /// - Throws: when the database has no such collection, with the most similar name as advice.
    init(_ name: String, _ client: ClientComposition, _ terminal: Terminal) throws {
        store = try client.store
        let names = store.catalog.models.map(\.collection.rawValue)
        guard let collection = CollectionName(rawValue: name), let schema = store.catalog[collection] else {
            throw CommandError(
                .usage, "this database has no collection '\(name.prefix(64))'",
                advice: NearestName.suggestion(for: name, among: names).map { "did you mean \($0)?" }
                    ?? "the collections are " + names.joined(separator: ", "))
        }
        self.schema = schema
        self.client = client
        self.terminal = terminal
    }

    /// Creates a record.
    ///
    /// - Parameter space: the name of the record's space; nil for the space of the records that it refers to, or
    ///   `default` if there are none.
    func create(_ fields: [String], in space: String?) throws {
        let named = try space.map { name throws(CommandError) in try SpaceID(argument: name) }
        let patch = schema.withDefaults(try FieldArguments.patch(fields, schema, in: store))
        var random = client.runtime.generator
        let id = RecordID.make(at: client.runtime.now(), random: &random)
        let home = try named ?? targetSpaces(of: patch).first?.space ?? .default
        try requireTargets(of: patch, in: home)
        _ = try store.commit([.create(schema.collection, id, patch)], in: home, now: client.runtime.now())
        try RecordOutput.print([id], schema, "created", store, terminal)
    }

    func set(_ record: String, _ fields: [String]) throws {
        let id = try RecordReference(text: record).resolve(schema.collection, in: store).id
        let patch = try FieldArguments.patch(fields, schema, in: store)
        let home = try space(of: id)
        try requireTargets(of: patch, in: home)
        let sequence = try store.commit([.update(schema.collection, id, patch)], in: home, now: client.runtime.now())
        try RecordOutput.print([id], schema, sequence == nil ? "unchanged" : "changed", store, terminal)
    }

    func delete(_ records: [String]) throws {
        var ids: [RecordID] = []
        var spaces: Set<SpaceID> = []
        for record in records {
            let id = try RecordReference(text: record).resolve(schema.collection, in: store).id
            if !ids.contains(id) { ids.append(id) }
            spaces.insert(try space(of: id))
        }
        guard spaces.count <= 1 else {
            throw CommandError(
                .failed,
                "the records are in the spaces \(spaces.map(\.rawValue).sorted().joined(separator: ", ")); expected records of one space",
                advice: "delete the records of each space in a separate command")
        }
        let edits = ids.map { RecordEdit.delete(schema.collection, $0) }
        _ = try store.commit(edits, in: spaces.first ?? .default, now: client.runtime.now())
        try RecordOutput.print(ids, schema, "deleted", store, terminal)
    }

    /// Returns the space of a record; `default` if a sync has removed the record meanwhile, which the commit then
    /// reports.
    private func space(of id: RecordID) throws(StoreError) -> SpaceID {
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
                advice: "a record can only refer to records of its own space")
        }
    }

    func show(_ record: String) throws {
        let found = try RecordReference(text: record).resolve(schema.collection, in: store)
        let shape = RecordShape(schema: schema, store: store)
        guard !terminal.isJSON else {
            terminal.say(try shape.line(found))
            return
        }
        var rows = [("uid", RecordShape.uid(found.uid)), ("id", found.id.description)]
        for (field, value) in zip(schema.fields, found.values) {
            rows.append((field.name.rawValue, try shape.text(value, of: field)))
        }
        let isPending = try store.isPending(schema.collection, found.id)
        rows.append(("space", try space(of: found.id).rawValue))
        rows.append(("version", found.version == .zero ? "-" : found.version.description))
        rows.append(("state", isPending ? "pending: the server has not confirmed all its changes" : "synced"))
        let width = rows.map(\.0.count).max() ?? 0
        for (name, value) in rows {
            let padding = String(repeating: " ", count: width - name.count)
            terminal.say("\(terminal.bold("\(name)"))\(padding)  \(value)")
        }
    }

    func list(_ listing: ListOptions) throws {
        let shape = RecordShape(schema: schema, store: store)
        var query = RecordQuery(
            schema.collection,
            where: try FieldArguments.patch(listing.conditions, schema, in: store).map {
                .init($0.field, equals: $0.value)
            },
            order: try listing.order(of: schema))
        let total = try store.count(matching: query)
        let wanted = max(0, min(listing.limit ?? .max, total - listing.offset))
        let end = listing.offset + wanted
        var table = Table(RecordShape.columns(schema))
        // The list is read in pages, so that its length does not determine the use of memory. Each page begins after
        // the last record of the previous one.
        query.offset = listing.offset
        for start in stride(from: listing.offset, to: end, by: Self.page) {
            query.limit = min(Self.page, end - start)
            let records = try store.records(matching: query)
            if let last = records.last {
                query.cursor = RecordCursor(of: last, orders: query.orders, schema: schema)
                query.offset = 0
            }
            for record in records {
                if terminal.isJSON {
                    terminal.say(try shape.line(record))
                } else {
                    table.add(try shape.cells(record))
                }
            }
            if !terminal.isJSON, !table.isEmpty { table.print(to: terminal) }
        }
        guard !terminal.isJSON else { return }
        if table.isEmpty {
            terminal.note(
                "no \(schema.collection.rawValue)s here\(listing.conditions.isEmpty ? "" : " with these values")")
        }
        if wanted < total { terminal.note("\(wanted) of \(total)") }
    }

    private static let page = 1_000
}
