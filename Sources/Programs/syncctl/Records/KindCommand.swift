import ArgumentParser
import SyncModel

/// `syncctl user`, `avatar`, `profile`: `syncctl record` for one collection, with its fields in the help.
struct KindCommand<Kind: RecordKind>: AsyncParsableCommand {
    /// The ways to name a record, for the help text.
    private static var names: String {
        guard let field = RecordNames.nameField(of: Kind.schema.collection) else { return "uid or its id" }
        return "uid, its id, or its \(field), written \(field)=7 if it looks like a uid or an id"
    }

    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: Kind.word, abstract: "Create, list, show, change and delete \(Kind.word)s.",
            discussion: """
                Fields: \(Kind.schema.fields.map(describe).joined(separator: ", ")).

                Name a record by its \(names). Changes take effect on this device at once; syncctl sync sends them to the server.

                Changes and deletions go to the space of their record.
                """,
            subcommands: [
                CreateKind<Kind>.self, ListKind<Kind>.self, ShowKind<Kind>.self, SetKind<Kind>.self,
                DeleteKind<Kind>.self,
            ])
    }

    private static func describe(_ field: FieldSchema) -> String {
        let what = field.target.map { $0.rawValue.withArticle } ?? field.type.rawValue
        return "\(field.name) (\(what)\(field.isRequired ? ", required" : ""))"
    }
}

struct CreateKind<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "create", abstract: "Create \(Kind.aWord).",
            usage: "syncctl \(Kind.word) create \(Kind.example)")
    }

    @OptionGroup var options: GlobalOptions
    @OptionGroup var home: NewRecordSpace
    @Argument(help: ArgumentHelp("A field and its value.", valueName: "field=value")) var fields: [String]

    func run() async throws { try await options.withRecords(of: Kind.word) { try $0.create(fields, in: home.space) } }
}

struct ListKind<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: "List \(Kind.word)s.",
            discussion: "With --json each record is one line, which syncctl import --jsonl can read.")
    }

    @OptionGroup var options: GlobalOptions
    @OptionGroup var listing: ListOptions

    func run() async throws { try await options.withRecords(of: Kind.word) { try $0.list(listing) } }
}

struct ShowKind<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: "Show one \(Kind.word).")
    }

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Uid, id, or name of the record.") var record: String

    func run() async throws { try await options.withRecords(of: Kind.word) { try $0.show(record) } }
}

struct SetKind<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "set", abstract: "Change fields of \(Kind.aWord).",
            discussion: "FIELD= without a value clears the field.")
    }

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Uid, id, or name of the record.") var record: String
    @Argument(help: ArgumentHelp("A field and its value.", valueName: "field=value")) var fields: [String]

    func run() async throws { try await options.withRecords(of: Kind.word) { try $0.set(record, fields) } }
}

struct DeleteKind<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "delete", abstract: "Delete \(Kind.word)s.",
            discussion:
                "Several records are deleted together or not at all. Until the transaction is sent, syncctl outbox cancel undoes it."
        )
    }

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Uids, ids, or names of the records.") var records: [String]

    func run() async throws { try await options.withRecords(of: Kind.word) { try $0.delete(records) } }
}
