import LoopbackPage
import SyncCore
import SyncModel
import SyncProgram
import TomboloCommunity

extension Inspector {
    // MARK: Lists

    /// Returns a page of the records of a collection, with the position of the next page.
    func list(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "collection", "search", "sort", "descending", "after", "limit")
        let schema = try store.catalog.schema(named: arguments.requiredText("collection"))
        let limit = try arguments.limit(upTo: InspectLimits.records)
        var query = RecordQuery(schema.collection, where: try search(arguments, schema))
        query.orders = [try order(arguments, schema)]
        let total = try store.count(matching: query)
        query.cursor = try arguments.cursor("after")
        // One more than the page has, to know whether another page follows.
        query.limit = limit + 1
        let found = try store.records(matching: query)
        let records = found.prefix(limit)
        var line = JSONLine()
        line.set("total", total)
        line.set("records", try records.map { try row($0, schema) })
        if found.count > limit, let last = records.last {
            line.set("next", json: InspectCursor.json(RecordCursor(of: last, orders: query.orders, schema: schema)))
        }
        return line
    }

    private func order(_ arguments: PageArguments, _ schema: ModelSchema) throws -> RecordOrder {
        let isDescending = try arguments.flag("descending")
        let term: RecordTerm =
            switch try arguments.text("sort") ?? "uid" {
            case "uid": .uid
            case "id": .id
            case let name: .field(try FieldArguments.field(name, schema).name)
            }
        return RecordOrder(term, descending: isDescending)
    }

    /// Returns the condition for a search text: a text field contains it, in this or another case, or the record has it
    /// as its uid or id.
    private func search(_ arguments: PageArguments, _ schema: ModelSchema) throws -> [RecordFilter] {
        guard let text = try arguments.text("search"), !text.isEmpty else { return [] }
        guard text.utf8.count <= InspectLimits.searchBytes else {
            throw PageError(400, "the search text is longer than \(InspectLimits.searchBytes) bytes")
        }
        // Stores compare bytes, so each spelling is a condition of its own.
        var spellings: [String] = []
        for spelling in [text, text.lowercased(), text.uppercased(), Self.capitalized(text)]
        where !spellings.contains(spelling) {
            spellings.append(spelling)
        }
        var alternatives: [RecordFilter] = []
        for field in schema.fields {
            switch field.type {
            case .text: alternatives += spellings.map { .contains(field.name, $0) }
            case .integer:
                if let number = Int64(text) { alternatives.append(.init(field.name, equals: .integer(number))) }
            case .reference:
                if let id = RecordID(text) { alternatives.append(.init(field.name, equals: .reference(id))) }
            case .boolean, .real, .json: break
            }
        }
        if let number = Int64(text) { alternatives.append(.compare(.uid, .equal, .integer(number))) }
        if let id = RecordID(text) { alternatives.append(.compare(.id, .equal, .reference(id))) }
        return [.any(alternatives)]
    }

    private static func capitalized(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst().lowercased()
    }

    private func row(_ record: Record, _ schema: ModelSchema) throws -> JSONLine {
        let shape = RecordShape(schema: schema, store: store)
        var line = JSONLine()
        line.set("id", record.id.description)
        line.set("uid", RecordShape.uid(record.uid))
        line.set("name", RecordShape.name(of: record, schema.collection, store.catalog))
        line.set("pending", try store.isPending(schema.collection, record.id))
        line.set(
            "cells",
            try zip(schema.fields, record.values).map { field, value in
                var cell = JSONLine()
                if !value.isNull { cell.set("text", Self.short(try shape.text(value, of: field))) }
                if case .reference(let id) = value { cell.set("id", id.description) }
                return cell
            })
        if schema.collection == UserSchema.schema.collection { line.set("image", try image(of: record)) }
        return line
    }

    private static func short(_ text: String) -> String {
        text.count > InspectLimits.cellCharacters ? text.prefix(InspectLimits.cellCharacters) + "…" : text
    }

    /// Returns the URL of the image of a user's avatar; nil if the user has none.
    private func image(of user: Record) throws -> String? {
        let avatar = AvatarSchema.schema.collection
        guard let position = store.catalog[UserSchema.schema.collection]?.position(of: "avatar"),
            case .reference(let id) = user.values[position],
            let place = store.catalog[avatar]?.position(of: "image_url"),
            let record = try store.record(avatar, .id(id)), case .text(let url) = record.values[place]
        else { return nil }
        return url
    }

    // MARK: One record

    /// Returns a record with all its values, and the server's values of the fields that are pending.
    func record(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "collection", "id")
        let schema = try store.catalog.schema(named: arguments.requiredText("collection"))
        let id = try arguments.record("id")
        guard let record = try store.record(schema.collection, .id(id)) else {
            throw PageError(
                404, "there is no record of \(schema.collection) with id \(id) on this device",
                advice: "it may have been deleted meanwhile")
        }
        let shown = try store.shownRecord(schema.collection, id)
        let shape = RecordShape(schema: schema, store: store)
        var line = try row(record, schema)
        line.set("version", record.version == .zero ? "-" : record.version.description)
        line.set("space", try store.space(of: schema.collection, id)?.rawValue)
        line.set("isOnServer", shown != nil)
        line.set(
            "fields",
            try schema.fields.indices.map { index in
                let (field, value) = (schema.fields[index], record.values[index])
                var line = JSONLine()
                line.set("name", field.name.rawValue)
                line.set("input", try input(value, of: field))
                if !value.isNull { line.set("text", try shape.text(value, of: field)) }
                if case .reference(let target) = value { line.set("id", target.description) }
                if let server = shown?.values[index], server != value {
                    line.set("server", server.isNull ? "-" : try shape.text(server, of: field))
                }
                return line
            })
        return line
    }

    /// Returns the text that stands for a value in a form. `FieldArguments.value` reads it as the same value.
    func input(_ value: FieldValue, of field: FieldSchema) throws -> String {
        switch value {
        case .null: return ""
        case .boolean(let value): return value ? "true" : "false"
        case .integer(let number): return field.dateText(value) ?? String(number)
        case .real(let value): return "\(value)"
        case .text(let text), .json(let text): return text
        case .reference(let id): return id.description
        }
    }
}
