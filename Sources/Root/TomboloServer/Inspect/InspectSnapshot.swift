import SyncAuthority
import SyncModel
import SyncProgram

/// One snapshot of the database, with the models of its moment, and the texts for what it holds.
struct InspectSnapshot {
    let view: any AuthorityView
    let state: AuthorityState
    let catalog: SchemaCatalog

    /// Returns the schema of a collection. A collection that no model describes has no fields.
    func schema(of collection: CollectionName) -> ModelSchema {
        catalog[collection] ?? ModelSchema(collection: collection, fields: [])
    }

    /// Returns the field by which people recognize a record: the first one of type text.
    static func nameField(of schema: ModelSchema) -> FieldSchema? { schema.fields.first { $0.type == .text } }

    /// Returns the name of a record for people: the text of its name field, else its uid.
    func name(of record: StoredRecord) -> String {
        if let field = Self.nameField(of: schema(of: record.address.collection)),
            case .text(let text) = record.field(field.name).value, !text.isEmpty
        {
            return Self.short(text)
        }
        return "#\(record.uid)"
    }

    /// Returns the name of the record at an address, whether alive or deleted.
    func name(at address: RecordAddress) throws -> String {
        guard let record = try view.record(address) else { return address.id.description }
        return record.isAlive ? name(of: record) : "#\(record.uid) (deleted)"
    }

    /// Returns a value as text for people; nil for null. A reference is shown as the name of its target.
    func text(_ value: FieldValue, of field: FieldSchema?) throws -> String? {
        switch value {
        case .null: nil
        case .boolean(let flag): flag ? "yes" : "no"
        case .integer(let number): field?.dateText(value) ?? String(number)
        case .real(let number): "\(number)"
        case .text(let text), .json(let text): text
        case .reference(let id):
            try field?.target.map { target in try name(at: RecordAddress(target, id)) } ?? id.description
        }
    }

    static func short(_ text: String) -> String {
        let start = text.prefix(InspectLimits.cellCharacters)
        return start.endIndex == text.endIndex ? text : start + "…"
    }

    /// Returns an edit's time, client, and account.
    func line(_ stamp: Stamp) throws -> JSONLine {
        var line = JSONLine()
        line.set("at", stamp.time.wall.milliseconds)
        line.set("client", stamp.client.description)
        line.set("account", try view.owner(of: stamp.client)?.principal.name)
        return line
    }
}
