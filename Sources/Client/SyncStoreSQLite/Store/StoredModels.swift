import SQLiteDatabase
import SyncCore
import SyncModel
import SyncWire

/// The models that a database records in three places: in `sync_field`, in the columns of its tables, and in
/// `sync_catalog`.
///
/// One transaction changes all three. If two of them differ, the file is damaged: a newer build would have changed them
/// all.
struct StoredModels {
    /// A field, as `sync_field` describes it.
    struct Column: Hashable {
        let name: String
        let type: String
        let target: String?

        init(_ field: FieldSchema) {
            name = field.name.rawValue
            type = field.type.rawValue
            target = field.target?.rawValue
        }

        /// Reads a row of `sync_field` that has the field's name in the given column, followed by its type and its
        /// target.
        init(_ row: Statement, at column: Int32) {
            name = row.text(column)
            type = row.text(column + 1)
            target = row.optionalText(column + 2)
        }

        var words: String { target.map { "\(name): \(type) to \($0)" } ?? "\(name): \(type)" }

        /// The type of the column in SQL; nil for a type that only a newer build knows.
        var sqlType: String? { FieldType(rawValue: type).map(\.sqlType) }
    }

    /// The fields of each collection in `sync_field`, in the order of their positions.
    let described: [String: [Column]]
    /// The names and types of the columns of each described table, without those that every table has.
    let columns: [String: [(name: String, type: String)]]

    /// The columns before the fields in every table.
    static let fixedColumns = ["sync_row", "id", "uid", "version", "sync_space", "sync_fields", "sync_unknown"]

    init(in connection: Connection) throws {
        described = try Self.described(in: connection)
        var columns: [String: [(name: String, type: String)]] = [:]
        for collection in described.keys { columns[collection] = try Self.columns(of: collection, in: connection) }
        self.columns = columns
    }

    /// Returns the columns of a table that hold fields, in their order; none when there is no such table.
    private static func columns(
        of collection: String, in connection: Connection
    ) throws -> [(name: String, type: String)] {
        let select = try connection.prepare("SELECT name, type FROM pragma_table_info(?1) ORDER BY cid")
        select.bind(1, collection)
        return try select.rows { ($0.text(0), $0.text(1)) }.filter { !fixedColumns.contains($0.0) }
    }

    /// Reads `sync_field`. A collection without fields is one row with an empty field name.
    static func described(in connection: Connection) throws -> [String: [Column]] {
        let select = try connection.prepare(
            "SELECT collection, field, type, target FROM sync_field ORDER BY collection, position")
        var fields: [String: [Column]] = [:]
        try select.forEachRow { row in
            fields[row.text(0), default: []] += row.text(1).isEmpty ? [] : [Column(row, at: 1)]
        }
        return fields
    }

    /// Returns the columns of all tables, with the root pages of the tables.
    static func placedColumns(in connection: Connection) throws -> [[String]] {
        let select = try connection.prepare(
            """
            SELECT collection, position, field, type, coalesce(target, ''), root FROM sync_field
            ORDER BY collection, position
            """)
        return try select.rows { row in (0..<6).map { row.text($0) } }
    }

    // MARK: Comparison

    /// Whether the database still has exactly these tables, with their columns in this order.
    static func match(_ tables: [RecordTable], in connection: Connection) throws -> Bool {
        let stored = try described(in: connection)
        return stored.count == tables.count
            && tables.allSatisfy { table in
                stored[table.name] == table.columnOrder.map { Column(table.model.fields[$0]) }
            }
    }

    /// Returns how `sync_field` and the tables differ; nil when they agree.
    var contradiction: String? {
        for (collection, fields) in described.sorted(by: { $0.key < $1.key }) {
            let columns = columns[collection] ?? []
            guard !columns.isEmpty || fields.isEmpty else { return "there is no table \(collection)" }
            let agrees =
                columns.count == fields.count
                && zip(columns, fields).allSatisfy { $0.name == $1.name && $0.type == $1.sqlType ?? $0.type }
            guard agrees else {
                let described = fields.map(\.words).joined(separator: ", ")
                let found = columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")
                return "sync_field describes \(collection) as (\(described)), and its table has the columns (\(found))"
            }
        }
        return nil
    }

    /// Whether a catalog has the collections and fields that `sync_field` describes, in any order.
    static func matches(_ catalog: SchemaCatalog, described: [String: [Column]]) -> Bool {
        described.count == catalog.models.count
            && catalog.models.allSatisfy { model in
                described[model.collection.rawValue].map(Set.init) == Set(model.fields.map(Column.init))
            }
    }

    /// Whether the tables have the columns that a catalog's fields need, and no others.
    static func hasTables(of catalog: SchemaCatalog, in connection: Connection) -> Bool {
        !catalog.models.isEmpty
            && catalog.models.allSatisfy { model in
                guard let columns = try? columns(of: model.collection.rawValue, in: connection) else { return false }
                return columns.count == model.fields.count
                    && model.fields.allSatisfy { field in
                        columns.contains { $0.name == field.name.rawValue && $0.type == field.type.sqlType }
                    }
            }
    }

    /// Throws if the three places of the models differ, or if only a newer build can read the models.
    ///
    /// - Returns: the catalog; nil when no models are stored.
    @discardableResult
    static func check(
        in connection: Connection, of file: String, rule: (_ name: String) -> FieldRule? = { _ in nil }
    ) throws -> SchemaCatalog? {
        let models = try StoredModels(in: connection)
        if let contradiction = models.contradiction {
            throw StoreError(.corrupt, "\(file) is damaged: \(contradiction)")
        }
        guard let text = try StoredCatalog.text(in: connection) else {
            guard models.described.isEmpty else {
                throw StoreError(.corrupt, "\(file) is damaged: sync_catalog has lost the models of the application")
            }
            return nil
        }
        let catalog = try StoredCatalog.decode(text, of: file, rule: rule)
        guard matches(catalog, described: models.described) else {
            throw StoreError(.corrupt, "\(file) is damaged: sync_catalog and sync_field have different fields")
        }
        return catalog
    }
}

extension FieldType {
    /// The type of the field's column.
    var sqlType: String {
        switch self {
        case .boolean, .integer: "INTEGER"
        case .real: "REAL"
        case .text, .json: "TEXT"
        case .reference: "BLOB"
        }
    }
}
