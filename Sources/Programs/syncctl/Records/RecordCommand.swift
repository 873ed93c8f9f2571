import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// The commands `syncctl user`, `avatar`, and `profile`, which have the same subcommands for each collection's schema.
struct RecordCommand<Kind: RecordKind>: AsyncParsableCommand {
    /// The help text about naming a record by its name field.
    private static var names: String {
        guard let field = RecordNames.nameField(of: Kind.schema.collection) else { return "" }
        return " or its \(field), written \(field)=7 where it looks like a uid or an id"
    }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Kind.word, abstract: "Create, list, show, change and delete \(Kind.word)s.",
            discussion: """
                Fields: \(Kind.schema.fields.map(describe).joined(separator: ", ")).

                Name a record by its uid, its id\(names). Changes take effect on this device at once; syncctl sync sends them to the server.
                """,
            subcommands: [
                CreateRecord<Kind>.self, ListRecords<Kind>.self, ShowRecord<Kind>.self, SetRecord<Kind>.self,
                DeleteRecords<Kind>.self,
            ])
    }

    private static func describe(_ field: FieldSchema) -> String {
        let what = field.target.map { $0.rawValue.withArticle } ?? field.type.rawValue
        return "\(field.name) (\(what)\(field.isRequired ? ", required" : ""))"
    }
}

struct CreateRecord<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "create", abstract: "Create \(Kind.aWord).",
            usage: "syncctl \(Kind.word) create \(Kind.example)")
    }

    @OptionGroup var options: GlobalOptions
    @Argument(help: ArgumentHelp("A field and its value.", valueName: "field=value")) var fields: [String]

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            let patch = try FieldArguments.edit(fields, Kind.schema, in: store)
            var random = client.runtime.generator
            let id = RecordID.make(at: client.runtime.now(), random: &random)
            _ = try store.commit([.create(Kind.schema.collection, id, patch)], in: .default, now: client.runtime.now())
            try RecordAnswer.print([id], Kind.schema, "created", store, options.terminal)
        }
    }
}

struct SetRecord<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set", abstract: "Change fields of \(Kind.aWord).",
            discussion: "FIELD= without a value clears the field.")
    }

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Uid, id, or name of the record.") var record: String
    @Argument(help: ArgumentHelp("A field and its value.", valueName: "field=value")) var fields: [String]

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            let id = try RecordReference(text: record).resolve(Kind.schema.collection, in: store).id
            let patch = try FieldArguments.edit(fields, Kind.schema, in: store)
            let sequence = try store.commit(
                [.update(Kind.schema.collection, id, patch)], in: .default, now: client.runtime.now())
            try RecordAnswer.print(
                [id], Kind.schema, sequence == nil ? "unchanged" : "changed", store, options.terminal)
        }
    }
}

struct DeleteRecords<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "delete", abstract: "Delete \(Kind.word)s.",
            discussion:
                "Several are deleted together or not at all. Until it is sent, syncctl outbox cancel takes it back.")
    }

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Uids, ids, or names of the records.") var records: [String]

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            var ids: [RecordID] = []
            for record in records {
                let id = try RecordReference(text: record).resolve(Kind.schema.collection, in: store).id
                if !ids.contains(id) { ids.append(id) }
            }
            let edits = ids.map { RecordEdit.delete(Kind.schema.collection, $0) }
            _ = try store.commit(edits, in: .default, now: client.runtime.now())
            try RecordAnswer.print(ids, Kind.schema, "deleted", store, options.terminal)
        }
    }
}

/// Prints the result of a command that writes records.
enum RecordAnswer {
    static func print(
        _ ids: [RecordID], _ schema: ModelSchema, _ verb: String, _ store: any LocalStore, _ terminal: Terminal
    ) throws {
        for id in ids {
            let record = try store.record(schema.collection, .id(id))
            if terminal.isJSON {
                var line: JSONLine
                if let record {
                    line = try RecordShape(schema: schema, store: store).line(record)
                } else {
                    line = JSONLine()
                    line.set("type", schema.collection.rawValue)
                    line.set("id", id.description)
                }
                line.set("result", verb)
                terminal.say(line)
            } else {
                let name = record.map { RecordShape.name(of: $0, schema.collection, store.catalog) } ?? id.description
                let suffix: TerminalText = name == id.description ? "" : "  \(terminal.dim("\(id)"))"
                terminal.say("\(verb) \(schema.collection.rawValue) \(name)\(suffix)")
            }
        }
    }
}
