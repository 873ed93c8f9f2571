import ArgumentParser
import SyncCore
import SyncModel

/// The options of a list of records: conditions, order, and the part of the list to print.
struct ListOptions: ParsableArguments {
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp("List only records with this value. May be repeated.", valueName: "field=value"))
    var conditions: [String] = []
    @Option(help: ArgumentHelp("List only records of this space.", valueName: "name")) var space: String?
    @Option(help: ArgumentHelp("uid, id (as created, to the millisecond) or a field.", valueName: "field"))
    var sort = "uid"
    @Option(parsing: .unconditional, help: "Maximum number of records to list.") var limit: Int?
    @Option(parsing: .unconditional, help: "Number of records to skip first.") var offset = 0

    func validate() throws {
        guard limit ?? 1 > 0 else { throw ValidationError("--limit must be at least 1") }
        guard offset >= 0 else { throw ValidationError("--offset must be 0 or more") }
    }

    func order(of schema: ModelSchema) throws -> RecordOrder {
        switch sort {
        case "uid": .uid
        case "id": .id
        default: .field(try FieldArguments.field(sort, schema).name)
        }
    }
}
