import SQLiteDatabase
import SyncCore
import SyncModel

/// Brings the tables of the collections up to the application's schema.
///
/// A new collection gets a table, and a new field gets a column, wherever the model declares it. Indexes are created
/// and dropped as the models declare them. A collection or field that is gone or has another type throws, and so does
/// a field of a stored collection that becomes required: the rules are those by which a server compares its models.
/// Values that the server sent before the application declared their field must have the type of the field, too.
struct CatalogMigration {
    /// The tables. After the migration, they know the order of their columns.
    private(set) var tables: [RecordTable]
    let connection: Connection

    /// Whether the tables match the models. If so, notes the order of their columns.
    mutating func isDone() throws -> Bool {
        let stored = try StoredModels.described(in: connection)
        guard stored.count == tables.count else { return false }
        for index in tables.indices {
            let wanted = tables[index].model.fields.map(Column.init)
            guard let columns = stored[tables[index].name], columns.count == wanted.count,
                columns.allSatisfy(wanted.contains)
            else { return false }
            order(&tables[index], by: columns)
        }
        guard try storedIndexes() == wantedIndexes else { return false }
        return try StoredCatalog.text(in: connection) == StoredCatalog.text(of: tables)
    }

    /// Creates and extends the tables. Must run inside a transaction.
    ///
    /// - Throws: `newerSchema` or `incompatibleModels` when the database has other models; `corrupt` when it
    ///   contradicts itself, which can look like other models.
    mutating func run(_ file: String) throws {
        // Each statement that changes the schema makes SQLite search the whole schema table. With thousands of tables
        // and indexes, that table does not fit into the usual cache, and SQLite would read it from the disk each time.
        let usual = try connection.integer(of: "PRAGMA cache_size")
        try connection.execute("PRAGMA cache_size = \(Self.cacheSize)")
        defer { try? connection.execute("PRAGMA cache_size = \(usual)") }
        if let problem = SchemaCatalog(tables.map(\.model)).nameProblem { throw StoreError(.otherSchema, problem) }
        let stored = try StoredModels.described(in: connection)
        do {
            try refuseOtherModels(than: stored)
        } catch {
            try StoredModels.check(in: connection, of: file)
            throw error
        }
        if !stored.isEmpty, tables.contains(where: { stored[$0.name]?.count != $0.model.fields.count }) {
            try StoredModels.check(in: connection, of: file)
        }
        try refuseRequiredFields(file)
        for index in tables.indices {
            if let fields = stored[tables[index].name] {
                try extend(&tables[index], having: fields)
            } else {
                try create(tables[index])
                try adoptForeignRows(tables[index])
            }
        }
        try updateIndexes()
        try StoredCatalog.store(StoredCatalog.text(of: tables), in: connection)
    }

    /// The page cache during a migration: 64 MiB. SQLite takes a negative number as KiB. The memory is used only as far
    /// as the schema needs it.
    private static let cacheSize = -65_536

    private typealias Column = StoredModels.Column

    // MARK: Tables

    private func create(_ table: RecordTable) throws {
        let columns = table.model.fields.map { ",\n    \(Self.column($0))" }.joined()
        try connection.execute(
            """
            CREATE TABLE \(table.quoted) (
                sync_row INTEGER PRIMARY KEY,
                id BLOB NOT NULL UNIQUE CHECK (length(id) = 16),
                uid INTEGER NOT NULL,
                version INTEGER NOT NULL,
                sync_space INTEGER NOT NULL,
                sync_fields BLOB,
                sync_unknown TEXT\(columns)
            ) STRICT;
            CREATE UNIQUE INDEX "sync_uid_\(table.name)" ON \(table.quoted) (uid) WHERE uid >= 0;
            """)
        try describe(table, from: 0)
        try index(table, from: 0)
        try createView(of: table)
    }

    private func refuseOtherModels(than stored: [String: [Column]]) throws(StoreError) {
        for name in stored.keys.sorted() where !tables.contains(where: { $0.name == name }) {
            throw StoreError(
                .newerSchema,
                """
                the database has a collection \(name), which this build does not declare. If this build has removed or renamed \
                the model, declare it again: the Swift type may have another name, and the collection keeps its name. \
                Otherwise, a newer build has created the collection, or the folder is that of another application
                """)
        }
        for table in tables {
            if let fields = stored[table.name] { try refuseOtherFields(than: fields, in: table) }
        }
    }

    private func refuseOtherFields(than stored: [Column], in table: RecordTable) throws(StoreError) {
        let wanted = table.model.fields.map(Column.init)
        let missing = stored.filter { column in !wanted.contains { $0.name == column.name } }
        guard missing.isEmpty else {
            let names = missing.map(\.name).joined(separator: ", ")
            let new = wanted.filter { column in !stored.contains { $0.name == column.name } }
            guard !new.isEmpty else {
                throw StoreError(
                    .newerSchema,
                    """
                    \(table.name) has fields that this build does not declare: \(names). If this build has removed them, declare \
                    them again; to rename a field, rename the Swift property and keep the stored name. Otherwise, a newer build \
                    has created the fields
                    """)
            }
            throw StoreError(
                .incompatibleModels,
                """
                \(table.name) has the fields \(names), and this build has \(new.map(\.name).joined(separator: ", ")) instead; \
                to rename a field, rename the Swift property and keep the stored name
                """)
        }
        for column in stored {
            for wanted in wanted where wanted.name == column.name && wanted != column {
                throw StoreError(
                    .incompatibleModels,
                    """
                    \(table.name) has \(column.words) where this build has \(wanted.words); give the field of the new type \
                    another name, and keep the old one
                    """)
            }
        }
    }

    /// Refuses required fields that records of the stored models may lack. No server would start with them.
    private func refuseRequiredFields(_ file: String) throws {
        // If the stored models cannot be read, then the tables have the same fields, or the check above has thrown.
        guard let text = try StoredCatalog.text(in: connection),
            let stored = try? StoredCatalog.decode(text, of: file, rule: { _ in nil })
        else { return }
        let change = CatalogChange(from: stored, to: SchemaCatalog(tables.map(\.model)))
        guard !change.isCompatible else { return }
        let problems = change.conflicts.map { "\($0.problem); \($0.remedy)" }
        throw StoreError(
            .incompatibleModels, "the models do not fit the stored ones: \(problems.joined(separator: ". "))")
    }

    private func extend(_ table: inout RecordTable, having stored: [Column]) throws {
        let new = table.model.fields.map(Column.init).filter { column in
            !stored.contains { $0.name == column.name }
        }
        order(&table, by: stored + new)
        guard !new.isEmpty else { return }
        for position in table.columnOrder[stored.count...] {
            try connection.execute(
                "ALTER TABLE \(table.quoted) ADD COLUMN \(Self.column(table.model.fields[position]))")
        }
        try describe(table, from: stored.count)
        try index(table, from: stored.count)
        try connection.execute("DROP VIEW IF EXISTS \(RecordTable.quote(table.name + "_shown"))")
        try createView(of: table)
        try takeNewFields(of: table, from: stored.count)
    }

    /// Notes the order of a table's columns.
    private func order(_ table: inout RecordTable, by columns: [Column]) {
        table.columnOrder = columns.compactMap { column in
            table.model.fields.firstIndex { $0.name.rawValue == column.name }
        }
    }

    private static func column(_ field: FieldSchema) -> String {
        "\(RecordTable.quote(field.name.rawValue)) \(field.type.sqlType)"
    }

    static let referencePrefix = "sync_ref_"

    /// Indexes the required references. Each delete checks whether a required reference points at the record; other
    /// references are never searched.
    private func index(_ table: RecordTable, from first: Int) throws {
        let fields = table.columnOrder[first...].map { table.model.fields[$0] }
        for field in fields where field.isRequired && field.type == .reference {
            // The period keeps the names of two models apart, as in `FieldIndex`.
            let name = RecordTable.quote("\(Self.referencePrefix)\(table.name).\(field.name)")
            let column = RecordTable.quote(field.name.rawValue)
            try connection.execute("CREATE INDEX \(name) ON \(table.quoted) (\(column))")
        }
    }

    // MARK: Indexes

    /// An index that the application declares for queries.
    private struct FieldIndex: Hashable {
        let name: String
        let table: String
        let field: String

        static let prefix = "sync_index_"

        init(_ table: RecordTable, _ field: FieldSchema) {
            // No name has a period, so two models never share the name of an index.
            name = "\(Self.prefix)\(table.name).\(field.name)"
            self.table = table.quoted
            self.field = RecordTable.quote(field.name.rawValue)
        }
    }

    private var declaredIndexes: [FieldIndex] {
        tables.flatMap { table in table.model.fields.filter(\.isIndexed).map { FieldIndex(table, $0) } }
    }

    private var wantedIndexes: Set<String> { Set(declaredIndexes.map(\.name)) }

    private func storedIndexes() throws -> Set<String> {
        let select = try connection.prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB '\(FieldIndex.prefix)*'")
        defer { select.reset() }
        var names: Set<String> = []
        while try select.step() { names.insert(select.text(0)) }
        return names
    }

    /// Creates the indexes that the models declare, and drops those that they declare no longer.
    private func updateIndexes() throws {
        let stored = try storedIndexes()
        for name in stored.subtracting(wantedIndexes).sorted() {
            try connection.execute("DROP INDEX \(RecordTable.quote(name))")
        }
        for index in declaredIndexes where !stored.contains(index.name) {
            // Every query orders by the id last.
            try connection.execute(
                "CREATE INDEX \(RecordTable.quote(index.name)) ON \(index.table) (\(index.field), id)")
        }
    }

    private func describe(_ table: RecordTable, from first: Int) throws {
        let insert = try connection.prepare(
            """
            INSERT INTO sync_field (collection, position, field, type, target, root) VALUES (?1, ?2, ?3, ?4, ?5,
                (SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?1))
            """)
        if table.model.fields.isEmpty {
            insert.bind(1, table.name)
            insert.bind(2, -1)
            insert.bind(3, "")
            insert.bind(4, "")
            insert.bind(5, nil as String?)
            try insert.run()
        }
        for (position, index) in table.columnOrder.enumerated().dropFirst(first) {
            let field = table.model.fields[index]
            insert.bind(1, table.name)
            insert.bind(2, Int64(position))
            insert.bind(3, field.name.rawValue)
            insert.bind(4, field.type.rawValue)
            insert.bind(5, field.target?.rawValue)
            try insert.run()
        }
    }

    /// Creates a view for people in the sqlite3 shell. It shows ids as text, and whether a record has pending changes.
    private func createView(of table: RecordTable) throws {
        let fields = table.model.fields.map { field in
            let name = RecordTable.quote(field.name.rawValue)
            return field.type == .reference
                ? ",\n    iif(live.\(name) IS NULL, NULL, \(Self.text(ofID: "live.\(name)"))) AS \(name)"
                : ",\n    live.\(name)"
        }
        try connection.execute(
            """
            CREATE VIEW \(RecordTable.quote(table.name + "_shown")) AS SELECT
                \(Self.text(ofID: "live.id")) AS id,
                live.uid, live.version,
                EXISTS (SELECT 1 FROM sync_pending WHERE collection = '\(table.name)' AND id = live.id
                    AND link = 'changes') AS sync_is_pending\(fields.joined())
            FROM \(table.quoted) AS live
            """)
    }

    private static func text(ofID column: String) -> String {
        let parts = [(1, 4), (5, 2), (7, 2), (9, 2), (11, 6)]
        return "lower(" + parts.map { "hex(substr(\(column), \($0.0), \($0.1)))" }.joined(separator: " || '-' || ")
            + ")"
    }
}
