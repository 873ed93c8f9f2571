import LoopbackPage
import SyncCore
import SyncModel
import SyncProgram

extension Inspector {
    func create(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "collection", "space", "fields")
        let writer = try writer(arguments)
        let named = try arguments.text("space").flatMap { $0.isEmpty ? nil : $0 }
        let space = try named.map { name throws(CommandError) in try SpaceID(argument: name) } ?? newRecordSpace
        let patch = try patch(arguments, writer.schema, isNew: true)
        return Self.line("created", try writer.create(patch, in: space))
    }

    func update(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "collection", "id", "fields", "before")
        let writer = try writer(arguments)
        let id = try arguments.record("id")
        let patch = try patch(arguments, writer.schema, isNew: false)
        try requireUnchanged(
            try arguments.texts("before"), id, writer.schema, since: "the form was opened",
            advice: "save again to replace what is there now")
        let sequence = try writer.update(id, patch)
        return Self.line(sequence == nil ? "unchanged" : "changed", id)
    }

    func delete(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "collection", "id", "before")
        let writer = try writer(arguments)
        let id = try arguments.record("id")
        // A deletion counts as one by somebody who has seen all values that are here. Values that have come while the
        // page asked whether to delete were not seen.
        try requireUnchanged(
            try arguments.texts("before"), id, writer.schema, since: "the record was shown",
            advice: "look at the record again before you delete it")
        try writer.delete([id])
        return Self.line("deleted", id)
    }

    /// Throws if a field no longer has the text that the page has shown: the change would replace a value that the
    /// person has not seen.
    private func requireUnchanged(
        _ shown: [(name: String, text: String)], _ id: RecordID, _ schema: ModelSchema, since moment: String,
        advice: String
    ) throws {
        guard let record = try store.record(schema.collection, .id(id)) else { return }
        let changed = try shown.compactMap { name, text -> PageError.FieldProblem? in
            let field = try FieldArguments.field(name, schema)
            guard let position = schema.position(of: field.name) else { return nil }
            let now = try input(record.values[position], of: field)
            guard now != text else { return nil }
            let value = now.isEmpty ? "it has no value now" : "its value is now: \(now)"
            return .init(field: field.name.rawValue, message: "has changed since it was shown here; \(value)")
        }
        guard !changed.isEmpty else { return }
        var refusal = PageError(
            409,
            "\(changed.count == 1 ? "a field has" : "\(changed.count) fields have") changed since \(moment)",
            advice: advice)
        refusal.fields = changed
        throw refusal
    }

    private func writer(_ arguments: PageArguments) throws -> RecordWriter {
        let schema = try store.catalog.schema(named: arguments.requiredText("collection"))
        return RecordWriter(schema: schema, store: store, runtime: runtime)
    }

    private static func line(_ result: String, _ id: RecordID) -> JSONLine {
        var line = JSONLine()
        line.set("result", result)
        line.set("id", id.description)
        return line
    }

    /// Returns the values of a form. Unlike a command, it reports the problems of all fields at once.
    private func patch(_ arguments: PageArguments, _ schema: ModelSchema, isNew: Bool) throws -> Patch {
        var patch = Patch()
        var problems: [FieldName: CommandError] = [:]
        for (name, text) in try arguments.texts("fields") {
            let field = try FieldArguments.field(name, schema)
            do {
                let value = try FieldArguments.value(text, field, schema, in: store)
                if value.isNull, field.isRequired { problems[field.name] = Self.missing(field, schema) }
                patch.set(field.name, to: value)
            } catch let problem as CommandError {
                problems[field.name] = problem
            }
        }
        if isNew {
            let whole = schema.withDefaults(patch)
            for field in schema.fields where field.isRequired && whole[field.name] == nil && problems[field.name] == nil
            {
                problems[field.name] = Self.missing(field, schema)
            }
        }
        let ordered = schema.fields.compactMap { field in problems[field.name].map { (field.name.rawValue, $0) } }
        guard let first = ordered.first?.1 else { return patch }
        var refusal = PageError(
            422, ordered.count == 1 ? first.message : "\(ordered.count) fields have values that cannot be saved",
            advice: ordered.count == 1 ? first.advice : nil)
        refusal.fields = ordered.map { .init(field: $0.0, message: $0.1.message) }
        throw refusal
    }

    private static func missing(_ field: FieldSchema, _ schema: ModelSchema) -> CommandError {
        let problem = InvalidValueError(collection: schema.collection, field: field.name, problem: .missing)
        return CommandError(.failed, problem.description)
    }

    // MARK: Journal

    func restore(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "entry")
        let number = try arguments.requiredNumber("entry")
        let sequences = try store.restore(journal: number, now: runtime.now()) { [runtime] in
            var random = runtime.generator
            return RecordID.make(at: runtime.now(), random: &random)
        }
        var line = JSONLine()
        line.set("result", sequences.isEmpty ? "unchanged" : "restored")
        return line
    }

    func dismiss(_ arguments: PageArguments) throws -> JSONLine {
        try arguments.require(only: "entry")
        try store.dismiss(journal: try arguments.requiredNumber("entry"))
        var line = JSONLine()
        line.set("result", "dismissed")
        return line
    }
}
