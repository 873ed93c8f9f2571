import SQLiteDatabase
import SyncCore
import SyncModel

/// Checks a whole database for damage, in one snapshot: its pages and indexes, its schema, each row, and its counts.
///
/// Each row is read by the code that later calls use, so that this check finds the damage that they would find. Rows
/// are read one at a time, so the memory does not grow with the database.
struct Verification {
    let connection: Connection
    let tables: [RecordTable]
    let file: String

    /// - Throws: `corrupt`, with the first finding.
    func run() throws {
        try checkPages()
        try checkSchema()
        try StoredModels.check(in: connection, of: file)
        try checkCounts()
        try checkRows()
    }

    /// Throws `corrupt` unless a condition holds.
    func expect(_ isWell: Bool, _ finding: @autoclosure () -> String) throws(StoreError) {
        guard isWell else { throw StoreError(.corrupt, "\(file) is damaged: \(finding())") }
    }

    /// Throws `corrupt` if the query returns a row. The finding names the row by its first column.
    func expectNone(_ sql: String, _ finding: (String) -> String) throws {
        let found = try connection.prepare(sql).first { $0.text(0) }
        if let found { try expect(false, finding(found)) }
    }

    // MARK: Pages

    /// Lets SQLite compare each index with its table, and look for pages and rows that it cannot read, and for rows
    /// that break a constraint. No table declares a foreign key.
    private func checkPages() throws {
        let findings = try connection.text(of: "PRAGMA integrity_check(1)")
        // The first line may only name the database.
        let finding = findings.split(separator: "\n").filter { !$0.hasPrefix("***") }.joined(separator: "; ")
        // A page that the disk does not return may be undamaged.
        if let match = finding.firstMatch(of: /error code=([0-9]+)/), let result = Int32(match.1),
            DatabaseError.code(of: result) != .corrupt
        {
            throw StoreError(.inputOutput, "\(file) cannot be checked: \(finding)")
        }
        try expect(findings == "ok", finding)
    }

    // MARK: Schema

    private func checkSchema() throws {
        let reference = try Connection(opening: ":memory:", busyTimeout: .zero)
        try Writer.migrations.run(on: reference, file)
        let found = try SchemaObject.all(in: connection)
        for wanted in try SchemaObject.all(in: reference).values.sorted(by: { $0.name < $1.name }) {
            try check(found[wanted.name], is: wanted)
        }
        var catalog = CatalogMigration(tables: tables, connection: reference)
        try catalog.run(file)
        let all = try SchemaObject.all(in: reference).values
        let indexes = Dictionary(grouping: all.filter { $0.type == "index" }, by: \.table)
        for table in tables { try checkTable(table, found, reference, indexes[table.name] ?? []) }
    }

    private func check(_ found: SchemaObject?, is wanted: SchemaObject) throws(StoreError) {
        guard let found else { return try expect(false, "the \(wanted.type) \(wanted.name) is missing") }
        try expect(found.definition == wanted.definition, "the \(wanted.type) \(wanted.name) has another definition")
    }

    /// Checks the table of a collection, its indexes, and its view. `StoredModels.check` compares the columns for
    /// fields, whose order and text depend on the builds that have added them.
    private func checkTable(
        _ table: RecordTable, _ found: [String: SchemaObject], _ reference: Connection, _ indexes: [SchemaObject]
    ) throws {
        let columns = """
            SELECT group_concat(name || ' ' || type || ' ' || "notnull" || ' ' || pk, ', ')
            FROM (SELECT * FROM pragma_table_info('\(table.name)') ORDER BY cid LIMIT \(RecordTable.fixedColumns))
            """
        let (own, wanted) = (try connection.text(of: columns), try reference.text(of: columns))
        try expect(own == wanted, "the table \(table.name) begins with the columns \(own); expected \(wanted)")
        for index in indexes.sorted(by: { $0.name < $1.name }) {
            // A field that has become required later has no index.
            if index.name.hasPrefix(CatalogMigration.referencePrefix), found[index.name] == nil { continue }
            try check(found[index.name], is: index)
        }
        let view = table.name + "_shown"
        try expect(found[view]?.type == "view", "the view \(view) is missing")
        _ = try connection.prepare("SELECT * FROM \(RecordTable.quote(view))")
    }
}

/// A table, an index, or a view of a schema.
struct SchemaObject: Hashable {
    let type: String
    let name: String
    /// The table of an index; otherwise the name.
    let table: String
    /// The parts of the definition that do not depend on the version of SQLite that has stored it: another version may
    /// quote names and break lines differently.
    let definition: String

    private init(_ row: Statement) {
        type = row.text(0)
        name = row.text(1)
        table = row.text(2)
        definition = "\(type) \(table) " + row.text(3).filter { $0 != "\"" && !$0.isWhitespace }
    }

    /// Returns the objects of a schema by their names.
    static func all(in connection: Connection) throws -> [String: SchemaObject] {
        let select = try connection.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema")
        return Dictionary(try select.rows(SchemaObject.init).map { ($0.name, $0) }) { first, _ in first }
    }
}
