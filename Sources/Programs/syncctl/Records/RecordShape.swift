import RecordImport
import SyncCore
import SyncModel
import SyncProgram
import TomboloModeling

/// Formats a record for output.
struct RecordShape {
    let schema: ModelSchema
    let store: any LocalStore

    /// Returns the record as one line of JSON, which `import --jsonl` can read.
    func line(_ record: Record) throws -> JSONLine {
        var line = JSONLine()
        line.set("type", schema.collection.rawValue)
        line.set("id", record.id.description)
        line.set("uid", record.uid.rawValue)
        line.set("version", record.version.rawValue)
        line.set("pending", try store.isPending(schema.collection, record.id))
        if let space = try store.space(of: schema.collection, record.id) { line.set("space", space.rawValue) }
        for (field, value) in zip(schema.fields, record.values) { line.set(field.name.rowKey, value) }
        return line
    }

    static func columns(_ schema: ModelSchema) -> [Table.Column] {
        [Table.Column(title: "UID", isNumber: true)]
            + schema.fields.map {
                Table.Column(
                    title: $0.name.rawValue.uppercased(),
                    isNumber: $0.type == .integer && !$0.isDate || $0.type == .real)
            } + [Table.Column(title: "STATE"), Table.Column(title: "ID")]
    }

    func cells(_ record: Record) throws -> [String] {
        let isPending = try store.isPending(schema.collection, record.id)
        return [Self.uid(record.uid)]
            + (try zip(schema.fields, record.values).map { try text($1, of: $0) })
            + [isPending ? "pending" : "synced", record.id.description]
    }

    static func uid(_ uid: UID) -> String { uid.isValid ? uid.description : "-" }

    /// Returns a value as text for people. A reference is shown as the name of its target.
    func text(_ value: FieldValue, of field: FieldSchema) throws -> String {
        switch value {
        case .null: return "-"
        case .boolean(let bool): return bool ? "yes" : "no"
        case .integer(let number): return field.dateText(value) ?? String(number)
        case .real(let number): return "\(number)"
        case .text(let text), .json(let text): return text
        case .reference(let id):
            guard let target = field.target else { return id.description }
            guard let record = try store.record(target, .id(id)) else { return "\(id) (not on this device)" }
            return Self.name(of: record, target, store.catalog)
        }
    }

    /// Returns the name of a record for people: its name, else its uid, else its id.
    static func name(of record: Record, _ collection: CollectionName, _ catalog: SchemaCatalog) -> String {
        if let name = RecordNames.nameField(of: collection), let position = catalog[collection]?.position(of: name),
            case .text(let text) = record.values[position]
        {
            return text
        }
        return record.uid.isValid ? "#\(record.uid)" : record.id.description
    }
}
