import RecordImport
import SyncCore
import SyncModel

/// Parses `FIELD=VALUE` arguments, and checks them against the schema.
enum FieldArguments {
    static func patch(_ arguments: [String], _ schema: ModelSchema, in store: any LocalStore) throws -> Patch {
        var patch = Patch()
        for argument in arguments {
            guard let equals = argument.utf8.firstIndex(of: UInt8(ascii: "=")) else {
                throw CommandError(
                    .usage, "'\(argument)': expected FIELD=VALUE",
                    advice: "the fields are " + names(schema))
            }
            let field = try field(String(argument[..<equals]), schema)
            guard patch[field.name] == nil else {
                throw CommandError(.usage, "\(field.name) is given twice; expected one value")
            }
            let text = String(argument[argument.utf8.index(after: equals)...])
            patch.set(field.name, to: try value(text, field, schema, in: store))
        }
        return patch
    }

    /// Returns the value that a text stands for. An empty text clears the field, except for a required text field,
    /// where it is a value.
    static func value(
        _ text: String, _ field: FieldSchema, _ schema: ModelSchema, in store: any LocalStore
    ) throws -> FieldValue {
        if text.isEmpty, field.type != .text || !field.isRequired { return .null }
        if field.type == .reference, let target = field.target {
            return .reference(try RecordReference(text: text).resolve(target, in: store).id)
        }
        guard let value = FieldValue(text, of: field).map(field.normalized) else {
            throw CommandError(
                .failed, "\(schema.collection).\(field.name): \(field.problem(parsing: text))", field: field.name)
        }
        if let problem = field.problem(with: value) {
            throw CommandError(
                .failed,
                InvalidValueError(collection: schema.collection, field: field.name, problem: problem).description,
                field: field.name)
        }
        return value
    }

    static func field(_ name: String, _ schema: ModelSchema) throws -> FieldSchema {
        guard let fieldName = FieldName(rawValue: name), let field = schema.field(named: fieldName) else {
            let nearest = NearestName.suggestion(for: name, among: schema.fields.map(\.name.rawValue))
            throw CommandError(
                .usage, "\(schema.collection) has no field '\(name)'",
                advice: nearest.map { "did you mean \($0)?" } ?? "the fields are " + names(schema))
        }
        return field
    }

    private static func names(_ schema: ModelSchema) -> String {
        schema.fields.map(\.name.rawValue).joined(separator: ", ")
    }
}
