import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// The commands over the records of one collection, of any application.
struct RecordAction {
    let schema: ModelSchema
    let store: any LocalStore
    let terminal: Terminal
    private let writer: RecordWriter

    /// - Throws: when the database has no such collection, with the most similar name as advice.
    init(_ name: String, _ client: ClientComposition, _ terminal: Terminal) throws {
        store = try client.store
        schema = try store.catalog.schema(named: name)
        writer = RecordWriter(schema: schema, store: store, runtime: client.runtime)
        self.terminal = terminal
    }

    /// Creates a record.
    ///
    /// - Parameter space: the name of the record's space; nil for the space of the records that it refers to, or
    ///   `default` if there are none.
    func create(_ fields: [String], in space: String?) throws {
        let named = try space.map { name throws(CommandError) in try SpaceID(argument: name) }
        let id = try writer.create(try FieldArguments.patch(fields, schema, in: store), in: named)
        try RecordOutput.print([id], schema, "created", store, terminal)
    }

    func set(_ record: String, _ fields: [String]) throws {
        let id = try RecordReference(text: record).resolve(schema.collection, in: store).id
        let sequence = try writer.update(id, try FieldArguments.patch(fields, schema, in: store))
        try RecordOutput.print([id], schema, sequence == nil ? "unchanged" : "changed", store, terminal)
    }

    func delete(_ records: [String]) throws {
        var ids: [RecordID] = []
        for record in records {
            let id = try RecordReference(text: record).resolve(schema.collection, in: store).id
            if !ids.contains(id) { ids.append(id) }
        }
        try writer.delete(ids)
        try RecordOutput.print(ids, schema, "deleted", store, terminal)
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
        rows.append(("space", try writer.space(of: found.id).rawValue))
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
        query.space = try listing.space.map { name throws(CommandError) in try SpaceID(argument: name) }
        let total = try store.count(matching: query)
        let wanted = max(0, min(listing.limit ?? .max, total - listing.offset))
        let end = listing.offset + wanted
        var table = Table(RecordShape.columns(schema))
        // The list is read in pages, so that its length does not determine the use of memory. Each page begins after
        // the last record of the previous one.
        query.offset = listing.offset
        var (start, page) = (listing.offset, Self.firstPage)
        var unprinted = (rows: 0, bytes: 0)
        while start < end {
            query.limit = min(page, end - start)
            let records = try store.records(matching: query)
            start += page
            if let last = records.last {
                query.cursor = RecordCursor(of: last, orders: query.orders, schema: schema)
                query.offset = 0
                page = Self.page(after: records)
            }
            for record in records {
                if terminal.isJSON {
                    terminal.say(try shape.line(record))
                } else {
                    table.add(try shape.cells(record))
                }
            }
            // The first part that is printed determines the widths of the columns.
            unprinted.rows += records.count
            unprinted.bytes += Self.bytes(of: records)
            if unprinted.rows >= Self.longestPage || unprinted.bytes >= Self.pageBytes {
                if !terminal.isJSON { table.print(to: terminal) }
                unprinted = (0, 0)
            }
        }
        if !terminal.isJSON, unprinted.rows > 0 { table.print(to: terminal) }
        guard !terminal.isJSON else { return }
        if table.isEmpty {
            terminal.note(
                "no \(schema.collection.rawValue)s \(query.space.map { "in \($0)" } ?? "here")"
                    + (listing.conditions.isEmpty ? "" : " with these values"))
        }
        if wanted < total { terminal.note("\(wanted) of \(total)") }
    }

    private static let firstPage = 16
    private static let longestPage = 1_000
    private static let pageBytes = 8 * 1_024 * 1_024

    /// Returns the number of records to read next, if they are about as large as these.
    private static func page(after records: [Record]) -> Int {
        min(max(pageBytes * records.count / max(bytes(of: records), 1), 1), longestPage)
    }

    private static func bytes(of records: [Record]) -> Int {
        records.reduce(0) { $1.values.reduce($0) { $0 + $1.byteCount } }
    }
}
