import LoopbackPage
import SyncAuthority
import SyncModel
import SyncProgram

extension ServerInspector {
    // MARK: Lists

    /// Returns a page of the live records of a collection in a space, ordered by id, with the position of the next
    /// page.
    ///
    /// A search looks at a bounded number of records, and also returns how many it has searched. To continue, the
    /// caller passes `next` as `after`. Its first page also has the records whose id or uid is the search text, even
    /// deleted ones, in addition to those of `limit`.
    func list(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "space", "collection", "after", "search", "limit")
        let space = try arguments.requiredSpace("space")
        let limit = try arguments.limit(upTo: InspectLimits.rows)
        let after = try arguments.value("after") == nil ? nil : arguments.record("after")
        let search = RecordSearch(try arguments.search())
        return try read { snapshot in
            let schema = try schema(arguments, in: snapshot)
            let budget = PageBudget(
                rows: search == nil ? limit : InspectLimits.searchedRows, bytes: InspectLimits.bytes)
            let slice = try snapshot.view.rows(in: space, of: schema.collection, after: after, budget: budget)
            var line = JSONLine()
            guard let search else {
                line.set("records", try slice.records.map { try row($0, schema, in: snapshot) })
                if !slice.isComplete, let last = slice.records.last {
                    line.set("next", last.address.id.description)
                }
                return line
            }
            // Records named by id or uid come first. The loop skips them, so that none is listed twice.
            let named = try search.named(in: space, of: schema.collection, snapshot.view)
            var found: [StoredRecord] = []
            var searched = 0
            var last: RecordID?
            for record in slice.records where found.count < limit {
                searched += 1
                last = record.address.id
                if search.matches(record), !named.contains(where: { $0.address == record.address }) {
                    found.append(record)
                }
            }
            if after == nil { found = named + found }
            line.set("records", try found.map { try row($0, schema, in: snapshot) })
            line.set("searched", searched)
            if let last, !slice.isComplete || searched < slice.records.count { line.set("next", last.description) }
            return line
        }
    }

    private func schema(_ arguments: PageArguments, in snapshot: InspectSnapshot) throws(PageError) -> ModelSchema {
        let name = try arguments.requiredText("collection")
        guard let schema = CollectionName(rawValue: name).flatMap({ snapshot.catalog[$0] }) else {
            throw PageError(
                400, "there is no collection '\(name.prefix(64))' in this database",
                advice: "it has \(snapshot.catalog.models.map(\.collection.rawValue).joined(separator: ", "))")
        }
        return schema
    }

    private func row(_ record: StoredRecord, _ schema: ModelSchema, in snapshot: InspectSnapshot) throws -> JSONLine {
        var line = JSONLine()
        line.set("id", record.address.id.description)
        line.set("uid", record.uid.rawValue)
        line.set("version", record.version.rawValue)
        line.set("name", snapshot.name(of: record))
        line.set("isDeleted", !record.isAlive)
        line.set(
            "cells",
            try schema.fields.map { field in
                let value = record.field(field.name).value
                var cell = JSONLine()
                if let text = try snapshot.text(value, of: field) { cell.set("text", InspectSnapshot.short(text)) }
                if case .reference(let id) = value { cell.set("id", id.description) }
                return cell
            })
        return line
    }

    // MARK: One record

    /// Returns a record with all its values, their origins, and the records that refer to it. A deleted record has only
    /// its ids, its creation, and its deletion.
    func record(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "collection", "id")
        let id = try arguments.record("id")
        return try read { snapshot in
            let schema = try schema(arguments, in: snapshot)
            guard let record = try snapshot.view.record(RecordAddress(schema.collection, id)) else {
                throw PageError(404, "there is no record of \(schema.collection) with id \(id) on this server")
            }
            var line = JSONLine()
            line.set("id", id.description)
            line.set("uid", record.uid.rawValue)
            line.set("name", snapshot.name(of: record))
            line.set("space", record.space.rawValue)
            line.set("version", record.version.rawValue)
            line.set("creation", try Self.line(record.creation.origin, in: snapshot))
            line.set("claimedAt", record.creation.claimedTime.wall.milliseconds)
            if let deletion = record.deletion {
                line.set("deletion", try snapshot.line(deletion))
                return line
            }
            // Fields that the models do not have come last.
            let unknown = record.fields.map(\.name).filter { schema.position(of: $0) == nil }
            line.set(
                "fields",
                try (schema.fields.map(\.name) + unknown).map { name in
                    try Self.line(record.field(name), schema, in: snapshot)
                })
            let referrers = try snapshot.view.referrers(
                of: record.address, through: snapshot.catalog.references(to: schema.collection),
                limit: InspectLimits.referrers + 1)
            line.set("hasMoreReferrers", referrers.count > InspectLimits.referrers)
            line.set(
                "referrers",
                try referrers.prefix(InspectLimits.referrers).map { referrer in
                    var line = JSONLine()
                    line.set("type", referrer.address.collection.rawValue)
                    line.set("id", referrer.address.id.description)
                    line.set("name", try snapshot.name(at: referrer.address))
                    line.set("field", referrer.field.rawValue)
                    return line
                })
            return line
        }
    }

    private static func line(
        _ field: StoredField, _ schema: ModelSchema, in snapshot: InspectSnapshot
    ) throws -> JSONLine {
        let known = schema.position(of: field.name).map { schema.fields[$0] }
        var line = try line(field.origin, in: snapshot)
        line.set("name", field.name.rawValue)
        line.set("type", known?.type.rawValue)
        line.set("isUnknown", known == nil)
        line.set("equalEdits", field.equalEdits.count)
        if let text = try snapshot.text(field.value, of: known) { line.set("text", text) }
        if case .reference(let id) = field.value, let target = known?.target {
            line.set("id", id.description)
            line.set("target", target.rawValue)
        }
        return line
    }

    private static func line(_ origin: FieldOrigin, in snapshot: InspectSnapshot) throws -> JSONLine {
        var line = try snapshot.line(origin.stamp)
        line.set("version", origin.version.rawValue)
        line.set("incarnation", origin.incarnation)
        return line
    }
}

extension SchemaCatalog {
    /// Returns the fields of all collections that refer to records of a collection.
    fileprivate func references(to collection: CollectionName) -> [ReferenceField] {
        models.flatMap { model in
            model.fields.filter { $0.target == collection }.map { ReferenceField(model.collection, $0.name) }
        }
    }
}
