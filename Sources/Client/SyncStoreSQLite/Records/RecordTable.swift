import SQLiteDatabase
import SyncCore
import SyncModel

/// The table of one collection, with SQL generated from the schema.
///
/// Names contain only a-z, 0-9, and _, and are quoted. Values are always bound.
struct RecordTable: Sendable {
    private let shape: Shape
    /// The position in the model of each column's field, in the order of the columns: first the fields of the build
    /// that created the table, then those that later builds have added.
    var columnOrder: [Int]

    /// The parts that follow from the schema. They are shared, so that copies of a table are cheap.
    private final class Shape: Sendable {
        let model: ModelSchema
        let position: Int
        /// The types of the fields, in the order of the model.
        let types: [FieldType]
        let columns: String
        /// The SQL of each use.
        let sql: [String]
        let setUID: String
        /// The assignment of a parameter to the column of each field, in the order of the model.
        let assignments: [String]

        init(model: ModelSchema, position: Int) {
            self.model = model
            self.position = position
            types = model.fields.map(\.type)
            let table = RecordTable.quote(model.collection.rawValue)
            let fields = model.fields.map { RecordTable.quote($0.name.rawValue) }
            assignments = fields.map { "\($0) = ?" }
            let fixed = ["id", "uid", "version", "sync_space", "sync_fields", "sync_unknown"]
            let stored = fixed + fields
            let columns = (["sync_row"] + stored).joined(separator: ", ")
            let places = stored.indices.map { "?\($0 + 1)" }.joined(separator: ", ")
            let updates = stored.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            self.columns = columns
            sql = Use.allCases.map { use in
                switch use {
                case .selectByID: "SELECT \(columns) FROM \(table) WHERE id = ?1"
                case .selectWithoutValues:
                    "SELECT sync_row, \(fixed.joined(separator: ", ")) FROM \(table) WHERE id = ?1"
                case .selectByUID: "SELECT \(columns) FROM \(table) WHERE uid = ?1 AND uid >= 0"
                case .selectSpace:
                    """
                    SELECT (SELECT space.name FROM sync_space AS space WHERE space.key = live.sync_space) \
                    FROM \(table) AS live WHERE live.id = ?1
                    """
                case .upsert:
                    """
                    INSERT INTO \(table) (\(stored.joined(separator: ", "))) VALUES (\(places)) \
                    ON CONFLICT (id) DO UPDATE SET \(updates)
                    """
                case .deleteByID: "DELETE FROM \(table) WHERE id = ?1"
                case .selectHolder:
                    "SELECT id, version, sync_space FROM \(table) WHERE uid = ?1 AND uid >= 0 AND id <> ?2"
                }
            }
            setUID = "UPDATE \(table) SET uid = ?2 WHERE id = ?1"
        }
    }

    /// The number of columns before the first field in `columns`.
    static let fixedColumns: Int32 = 7

    init(model: ModelSchema, position: Int) {
        shape = Shape(model: model, position: position)
        columnOrder = Array(model.fields.indices)
    }

    var model: ModelSchema { shape.model }
    /// The index of the collection in the catalog.
    var position: Int { shape.position }
    /// The column names of a row, in order, separated by commas.
    var columns: String { shape.columns }
    var setUID: String { shape.setUID }
    var name: String { model.collection.rawValue }
    var quoted: String { Self.quote(name) }

    /// Returns SQL that sets the fields at `positions` in the model to the first parameters, in the row whose key is
    /// the last one.
    ///
    /// A column that is not named costs nothing, and neither do its indexes, such as that of the uid.
    ///
    /// - Parameter setsVersions: whether the first two parameters are the record's version and the versions of its
    ///   fields.
    private func update(of positions: [Int], setsVersions: Bool) -> String {
        var sql = "UPDATE "
        sql.reserveCapacity(64 * (positions.count + 1))
        sql += quoted
        sql += setsVersions ? " SET version = ?, sync_fields = ?" : " SET "
        for (index, position) in positions.enumerated() {
            if index > 0 || setsVersions { sql += ", " }
            sql += shape.assignments[position]
        }
        sql += " WHERE sync_row = ?"
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
    /// SQLite's own key of the row; nil for a row that has not been read.
    var key: Int64?
}

extension RecordTable {
    /// Reads the current row of a statement that selects `columns`.
    func row(_ statement: Statement) throws -> StoredRow {
        StoredRow(record: try record(statement), space: space(statement), key: statement.integer(0))
    }

    /// Returns the key of the space in the current row of a statement that selects `columns`.
    func space(_ statement: Statement) -> Int64 { statement.integer(4) }

    func record(_ statement: Statement) throws -> Record {
        var record = try recordWithoutValues(statement)
        record.values.reserveCapacity(shape.types.count)
        var column = Self.fixedColumns
        for type in shape.types {
            record.values.append(try value(statement, column, type))
            column += 1
        }
        return record
    }

    private func recordWithoutValues(_ statement: Statement) throws -> Record {
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
        return record
    }

    private func value(_ statement: Statement, _ column: Int32, _ type: FieldType) throws -> FieldValue {
        if statement.isNull(column) { return .null }
        return switch type {
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
        guard record.values.count == shape.types.count else {
            throw StoreError(
                .contradiction, "\(name) \(record.id) has \(record.values.count) values; expected \(shape.types.count)"
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
        for (position, value) in record.values.enumerated() {
            try bind(value, ofFieldAt: position, in: record.id, to: statement, at: parameter)
            parameter += 1
        }
    }

    /// Binds the parameters of `update(of:setsVersions: true)`.
    ///
    /// - Throws: `contradiction` when a value does not have its field's type.
    func bind(_ record: Record, at key: Int64, fieldsAt positions: [Int], to statement: Statement) throws {
        statement.bind(1, record.version.rawValue)
        statement.bind(2, blob: FieldVersions.encode(record, order: columnOrder))
        var parameter: Int32 = 3
        for position in positions {
            try bind(record.values[position], ofFieldAt: position, in: record.id, to: statement, at: parameter)
            parameter += 1
        }
        statement.bind(parameter, key)
    }

    private func bind(
        _ value: FieldValue, ofFieldAt position: Int, in id: RecordID, to statement: Statement, at parameter: Int32
    ) throws {
        if let type = value.type {
            guard type == shape.types[position] else {
                throw StoreError(
                    .contradiction,
                    "\(name) \(id): \(model.fields[position].name) holds \(shape.types[position].rawValue), not \(type.rawValue)"
                )
            }
            if case .real(let number) = value, !number.isFinite {
                throw StoreError(
                    .contradiction, "\(name) \(id): \(model.fields[position].name) is not a finite number")
            }
        }
        statement.bind(parameter, value)
    }
}

extension RecordTable {
    /// A statement that each connection caches for each table.
    enum Use: Int, CaseIterable {
        case selectByID, selectWithoutValues, selectByUID, selectSpace, upsert, deleteByID, selectHolder
    }

    /// Returns the connection's cached statement for one use of this table.
    func statement(_ use: Use, on connection: Connection) throws(DatabaseError) -> Statement {
        try connection.statement(
            numbered: position * Use.allCases.count + use.rawValue, shape.sql[use.rawValue])
    }

    /// Returns the connection's cached statement for `update(of:setsVersions:)`.
    ///
    /// - Parameter positions: at most `StoreLimits.fieldsOfPartialUpdate` of them.
    func updateStatement(
        of positions: [Int], setsVersions: Bool = false, on connection: Connection
    ) throws(DatabaseError) -> Statement {
        precondition(positions.count <= StoreLimits.fieldsOfPartialUpdate)
        var key = position << 1 | (setsVersions ? 1 : 0)
        for index in 0..<StoreLimits.fieldsOfPartialUpdate {
            // 0 stands for no field. A position is less than `SchemaLimits.fields`, so the sum fits in 8 bits.
            key = key << 8 | (index < positions.count ? positions[index] + 1 : 0)
        }
        return try connection.statement(keyed: key, update(of: positions, setsVersions: setsVersions))
    }

    /// Returns the row of a record; nil when the record does not exist.
    func row(of id: RecordID, on connection: Connection) throws -> StoredRow? {
        let statement = try statement(.selectByID, on: connection)
        statement.bind(1, id)
        defer { statement.reset() }
        return try statement.step() ? try row(statement) : nil
    }

    /// Returns the row of a record with null for each value, which costs less than reading the values; nil when the
    /// record does not exist.
    func rowWithoutValues(of id: RecordID, on connection: Connection) throws -> StoredRow? {
        let statement = try statement(.selectWithoutValues, on: connection)
        statement.bind(1, id)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var record = try recordWithoutValues(statement)
        record.values = Array(repeating: .null, count: shape.types.count)
        return StoredRow(record: record, space: space(statement), key: statement.integer(0))
    }

    /// Returns the space in which a record lives; nil when the record does not exist.
    func space(of id: RecordID, on connection: Connection) throws -> SpaceID? {
        let statement = try statement(.selectSpace, on: connection)
        statement.bind(1, id)
        return try statement.first { SpaceID(rawValue: $0.text(0)) } ?? nil
    }
}
