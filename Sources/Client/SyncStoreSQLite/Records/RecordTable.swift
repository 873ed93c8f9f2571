import SQLiteDatabase
import SyncCore
import SyncModel

/// The table of one collection, with SQL generated from the schema.
///
/// Names contain only a-z, 0-9, and _, and are quoted. Values are always bound.
struct RecordTable: Hashable, Sendable {
    let model: ModelSchema
    /// The index of the collection in the catalog.
    let position: Int
    /// The position in the model of each column's field, in the order of the columns: first the fields of the build
    /// that created the table, then those that later builds have added.
    var columnOrder: [Int]

    let selectByID: String
    let selectByUID: String
    /// Selects the name of the space in which a record lives.
    let selectSpace: String
    let upsert: String
    let deleteByID: String
    let setUID: String
    /// The assignment of a parameter to the column of each field, in the order of the model.
    private let assignments: [String]
    /// Selects the record that has a uid, unless it is the given record.
    let selectHolder: String

    /// The number of columns before the first field in `columns`.
    static let fixedColumns: Int32 = 7

    /// The column names of a row, in order, separated by commas.
    let columns: String

    var name: String { model.collection.rawValue }
    var quoted: String { Self.quote(name) }

    init(model: ModelSchema, position: Int) {
        self.model = model
        self.position = position
        columnOrder = Array(model.fields.indices)
        let table = Self.quote(model.collection.rawValue)
        assignments = model.fields.map { "\(Self.quote($0.name.rawValue)) = ?" }
        let fields = model.fields.map { Self.quote($0.name.rawValue) }
        let stored = ["id", "uid", "version", "sync_space", "sync_fields", "sync_unknown"] + fields
        columns = (["sync_row"] + stored).joined(separator: ", ")
        selectByID = "SELECT \(columns) FROM \(table) WHERE id = ?1"
        selectByUID = "SELECT \(columns) FROM \(table) WHERE uid = ?1 AND uid >= 0"
        selectSpace = """
            SELECT (SELECT space.name FROM sync_space AS space WHERE space.key = live.sync_space) \
            FROM \(table) AS live WHERE live.id = ?1
            """
        let places = stored.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
        let updates = stored.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
        upsert = """
            INSERT INTO \(table) (\(stored.joined(separator: ", "))) VALUES (\(places)) \
            ON CONFLICT (id) DO UPDATE SET \(updates)
            """
        deleteByID = "DELETE FROM \(table) WHERE id = ?1"
        selectHolder = "SELECT id, version, sync_space FROM \(table) WHERE uid = ?1 AND uid >= 0 AND id <> ?2"
        setUID = "UPDATE \(table) SET uid = ?2 WHERE id = ?1"
    }

    /// Returns SQL that sets the fields at `positions` in the model to the first parameters, in the record whose id is the
    /// last one.
    ///
    /// A column that is not named costs nothing, and neither do its indexes, such as that of the uid.
    func update(of positions: [Int]) -> String {
        var sql = "UPDATE "
        sql.reserveCapacity(64 * (positions.count + 1))
        sql += quoted
        sql += " SET "
        for (index, position) in positions.enumerated() {
            if index > 0 { sql += ", " }
            sql += assignments[position]
        }
        sql += " WHERE id = ?"
        return sql
    }

    static func quote(_ name: String) -> String {
        "\"\(name)\""
    }

    /// Returns the tables of a catalog, in its order.
    static func all(of catalog: SchemaCatalog) -> [RecordTable] {
        catalog.models.enumerated().map { RecordTable(model: $0.element, position: $0.offset) }
    }
}

/// A record and its space, as stored in the table.
struct StoredRow {
    var record: Record
    /// The key of the space in which the record lives.
    var space: Int64
}

extension RecordTable {
    /// Reads the current row of a statement that selects `columns`.
    func row(_ statement: Statement) throws -> StoredRow {
        StoredRow(record: try record(statement), space: space(statement))
    }

    /// Returns the key of the space in the current row of a statement that selects `columns`.
    func space(_ statement: Statement) -> Int64 { statement.integer(4) }

    func record(_ statement: Statement) throws -> Record {
        let id = try statement.recordID(1)
        let version = Version(statement.integer(3))
        var record = Record(id: id, uid: UID(statement.integer(2)), version: version, values: [])
        if !statement.isNull(5) {
            let versions = statement.withBytes(5) {
                FieldVersions.decode($0, order: columnOrder, version: version)
            }
            guard let versions else {
                throw StoreError(.corrupt, "\(name) \(id): sync_fields cannot be read")
            }
            record.fieldVersions = versions
        }
        if !statement.isNull(6) {
            record.unknown = try StoredForm.patch(from: statement.bytes(6), of: "\(name) \(id)")
        }
        record.values.reserveCapacity(model.fields.count)
        var column = Self.fixedColumns
        for field in model.fields {
            record.values.append(try value(statement, column, field))
            column += 1
        }
        return record
    }

    private func value(
        _ statement: Statement, _ column: Int32, _ field: FieldSchema
    ) throws -> FieldValue {
        if statement.isNull(column) { return .null }
        return switch field.type {
        case .boolean: .boolean(statement.integer(column) != 0)
        case .integer: .integer(statement.integer(column))
        case .real: .real(statement.real(column))
        case .text: .text(statement.text(column))
        case .reference: .reference(try statement.recordID(column))
        case .json: .json(statement.text(column))
        }
    }

    /// Binds a record to `upsert`.
    ///
    /// - Throws: `contradiction` when a value does not have its field's type, because only a server can have sent such
    ///   a value.
    func bind(_ row: StoredRow, to statement: Statement) throws {
        let record = row.record
        guard record.values.count == model.fields.count else {
            throw StoreError(
                .contradiction, "\(name) \(record.id) has \(record.values.count) values; expected \(model.fields.count)"
            )
        }
        statement.bind(1, record.id)
        statement.bind(2, record.uid.rawValue)
        statement.bind(3, record.version.rawValue)
        statement.bind(4, row.space)
        statement.bind(5, blob: FieldVersions.encode(record, order: columnOrder))
        if record.unknown.isEmpty {
            statement.bind(6, nil as String?)
        } else {
            statement.bind(6, text: try StoredForm.bytes(of: record.unknown))
        }
        var parameter = Self.fixedColumns
        for (field, value) in zip(model.fields, record.values) {
            if let type = value.type {
                guard type == field.type else {
                    throw StoreError(
                        .contradiction,
                        "\(name) \(record.id): \(field.name) holds \(field.type.rawValue), not \(type.rawValue)")
                }
                if case .real(let number) = value, !number.isFinite {
                    throw StoreError(.contradiction, "\(name) \(record.id): \(field.name) is not a finite number")
                }
            }
            statement.bind(parameter, value)
            parameter += 1
        }
    }
}

extension RecordTable {
    /// A statement that each connection caches for each table.
    enum Use: Int, CaseIterable {
        case selectByID, selectByUID, selectSpace, upsert, deleteByID, selectHolder
    }

    /// Returns the connection's cached statement for one use of this table.
    func statement(_ use: Use, on connection: Connection) throws(DatabaseError) -> Statement {
        try connection.statement(numbered: position * Use.allCases.count + use.rawValue, sql(for: use))
    }

    private func sql(for use: Use) -> String {
        switch use {
        case .selectByID: selectByID
        case .selectByUID: selectByUID
        case .selectSpace: selectSpace
        case .upsert: upsert
        case .deleteByID: deleteByID
        case .selectHolder: selectHolder
        }
    }

    /// Returns the row of a record; nil when the record does not exist.
    func row(of id: RecordID, on connection: Connection) throws -> StoredRow? {
        let statement = try statement(.selectByID, on: connection)
        statement.bind(1, id)
        defer { statement.reset() }
        return try statement.step() ? try row(statement) : nil
    }

    /// Returns the space in which a record lives; nil when the record does not exist.
    func space(of id: RecordID, on connection: Connection) throws -> SpaceID? {
        let statement = try statement(.selectSpace, on: connection)
        statement.bind(1, id)
        return try statement.first { SpaceID(rawValue: $0.text(0)) } ?? nil
    }
}
