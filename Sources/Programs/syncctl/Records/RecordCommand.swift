import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

/// `syncctl record`: the records of any application's database.
struct RecordCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Create, list, show, change, and delete records of any collection.",
        discussion: """
            The database knows its own collections and fields: syncctl record collections lists them. --store FOLDER names \
            the database of another application.

            Name a record by its uid or its id. Values are text, whole numbers, decimal numbers, true or false, JSON, or, for \
            a reference, the name of a record. Changes take effect on this device at once; syncctl sync sends them to the \
            server.

            Changes and deletions go to the space of their record.
            """,
        subcommands: [
            ListCollections.self, CreateRecord.self, ListRecords.self, ShowRecord.self, SetRecord.self,
            DeleteRecords.self,
        ])
}

extension GlobalOptions {
    /// Runs a command over the records of a collection.
    func withRecords(of collection: String, _ body: (RecordAction) throws -> Void) async throws {
        try await withClient { client in try body(RecordAction(collection, client, terminal)) }
    }
}

struct ListCollections: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "collections", abstract: "List the collections and fields of the database.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        try await options.withClient { client in
            let terminal = options.terminal
            var table = Table([
                .init(title: "COLLECTION"), .init(title: "FIELD"), .init(title: "TYPE"), .init(title: "REQUIRED"),
            ])
            for model in try client.store.catalog.models {
                for field in model.fields {
                    let type =
                        field.target.map { "reference to \($0)" } ?? (field.isDate ? "date" : field.type.rawValue)
                    if terminal.isJSON {
                        var line = JSONLine()
                        line.set("collection", model.collection.rawValue)
                        line.set("field", field.name.rawValue)
                        line.set("type", field.type.rawValue)
                        line.set("target", field.target?.rawValue)
                        line.set("required", field.isRequired)
                        terminal.say(line)
                    } else {
                        let required = field.isRequired ? "yes" : "no"
                        table.add([model.collection.rawValue, field.name.rawValue, type, required])
                    }
                }
            }
            if !terminal.isJSON { table.print(to: terminal) }
        }
    }
}

struct CreateRecord: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "create", abstract: "Create a record.")

    @OptionGroup var options: GlobalOptions
    @OptionGroup var home: NewRecordSpace
    @Argument(help: "Name of the collection.") var collection: String
    @Argument(help: ArgumentHelp("A field and its value.", valueName: "field=value")) var fields: [String] = []

    func run() async throws { try await options.withRecords(of: collection) { try $0.create(fields, in: home.space) } }
}

struct ListRecords: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the records of a collection.",
        discussion: "With --json each record is one line.")

    @OptionGroup var options: GlobalOptions
    @OptionGroup var listing: ListOptions
    @Argument(help: "Name of the collection.") var collection: String

    func run() async throws { try await options.withRecords(of: collection) { try $0.list(listing) } }
}

struct ShowRecord: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one record.")

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Name of the collection.") var collection: String
    @Argument(help: "Uid or id of the record.") var record: String

    func run() async throws { try await options.withRecords(of: collection) { try $0.show(record) } }
}

struct SetRecord: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set", abstract: "Change fields of a record.",
        discussion: "FIELD= without a value clears the field.")

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Name of the collection.") var collection: String
    @Argument(help: "Uid or id of the record.") var record: String
    @Argument(help: ArgumentHelp("A field and its value.", valueName: "field=value")) var fields: [String]

    func run() async throws { try await options.withRecords(of: collection) { try $0.set(record, fields) } }
}

struct DeleteRecords: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete records of a collection.",
        discussion:
            "Several records are deleted together or not at all. Until the transaction is sent, syncctl outbox cancel undoes it."
    )

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Name of the collection.") var collection: String
    @Argument(help: "Uids or ids of the records.") var records: [String]

    func run() async throws { try await options.withRecords(of: collection) { try $0.delete(records) } }
}
