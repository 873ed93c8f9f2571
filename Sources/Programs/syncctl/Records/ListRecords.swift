import ArgumentParser
import SyncBootstrap
import SyncCore
import SyncModel
import SyncProgram

struct ListRecords<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "list", abstract: "List \(Kind.word)s.",
            discussion: "With --json each record is one line, which syncctl import --jsonl reads back.")
    }

    @OptionGroup var options: GlobalOptions
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("Only those with this value; may be repeated.", valueName: "field=value"))
    var conditions: [String] = []
    @Option(help: ArgumentHelp("uid, id (as created) or a field.", valueName: "field")) var sort = "uid"
    @Option(help: "Maximum number to list.") var limit: Int?
    @Option(help: "Number to skip at the beginning.") var offset = 0

    func validate() throws {
        guard limit ?? 0 >= 0, offset >= 0 else {
            throw ValidationError("--limit and --offset take no negative numbers")
        }
    }

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            let terminal = options.terminal
            let shape = RecordShape(schema: Kind.schema, store: store)
            var query = RecordQuery(
                Kind.schema.collection,
                where: try FieldArguments.patch(conditions, Kind.schema, in: store).map {
                    .init($0.field, equals: $0.value)
                },
                order: try order())
            let total = try store.count(matching: query)
            let wanted = max(0, min(limit ?? .max, total - offset))
            let end = offset + wanted
            var table = Table(RecordShape.columns(Kind.schema))
            // Reading in pages bounds the memory of a JSON list. A table holds all rows, because the widths of its
            // columns depend on them.
            for start in stride(from: offset, to: end, by: Self.page) {
                query.offset = start
                query.limit = min(Self.page, end - start)
                for record in try store.records(matching: query) {
                    if terminal.isJSON {
                        terminal.say(try shape.line(record))
                    } else {
                        table.add(try shape.cells(record))
                    }
                }
            }
            if !terminal.isJSON {
                if table.isEmpty {
                    terminal.note("no \(Kind.word)s here\(conditions.isEmpty ? "" : " with these values")")
                } else {
                    table.print(to: terminal)
                }
                if wanted < total { terminal.note("\(wanted) of \(total)") }
            }
        }
    }

    private static var page: Int { 1_000 }

    private func order() throws -> RecordOrder {
        switch sort {
        case "uid": .uid
        case "id": .id
        default: .field(try FieldArguments.field(sort, Kind.schema).name)
        }
    }
}

struct ShowRecord<Kind: RecordKind>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "show", abstract: "Show one \(Kind.word).")
    }

    @OptionGroup var options: GlobalOptions
    @Argument(help: "Uid, id, or name of the record.") var record: String

    func run() async throws {
        try await options.withClient { client in
            let store = try client.store
            let terminal = options.terminal
            let found = try RecordReference(text: record).resolve(Kind.schema.collection, in: store)
            let shape = RecordShape(schema: Kind.schema, store: store)
            if terminal.isJSON {
                terminal.say(try shape.line(found))
            } else {
                var rows = [("uid", RecordShape.uid(found.uid)), ("id", found.id.description)]
                for (field, value) in zip(Kind.schema.fields, found.values) {
                    rows.append((field.name.rawValue, try shape.text(value, of: field)))
                }
                let isPending = try store.isPending(Kind.schema.collection, found.id)
                rows.append(("version", found.version == .zero ? "-" : found.version.description))
                rows.append(("state", isPending ? "pending: the server has not confirmed all of it" : "synced"))
                let width = rows.map(\.0.count).max() ?? 0
                for (name, value) in rows {
                    let padding = String(repeating: " ", count: width - name.count)
                    terminal.say("\(terminal.bold("\(name)"))\(padding)  \(value)")
                }
            }
        }
    }
}
