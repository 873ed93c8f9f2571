import SyncJSON
import SyncModel

/// Compact coding of records of one collection: the column names once, then each record as `[id, uid, version,
/// fieldVersions or null, values…]`.
enum SnapshotRowsCoding {
    // MARK: Writing

    static func write(_ rows: SnapshotRows, catalog: SchemaCatalog, to writer: inout JSONWriter) throws(WireError) {
        if let encoded = rows.encoded { return writer.verbatim(encoded.bytes) }
        let columns = Columns(of: rows, catalog: catalog)
        begin(rows.collection, columns.names, in: &writer)
        for record in rows.records { try write(record, of: rows.collection, columns, to: &writer) }
        end(in: &writer)
    }

    /// Begins a group. The caller appends the rows, and then calls `end`.
    static func begin(_ collection: CollectionName, _ columns: [FieldName], in writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("collection", collection.rawValue)
        writer.key("columns")
        writer.beginArray()
        for name in columns { writer.string(name.rawValue) }
        writer.endArray()
        writer.key("rows")
        writer.beginArray()
    }

    static func end(in writer: inout JSONWriter) {
        writer.endArray()
        writer.endObject()
    }

    /// The columns of a group of records: those of the schema, then the unknown fields that its records contain.
    struct Columns {
        let known: [FieldName]
        let unknown: [FieldName]
        var names: [FieldName] { known + unknown }

        init(of rows: SnapshotRows, catalog: SchemaCatalog) {
            known = catalog[rows.collection]?.fields.map(\.name) ?? []
            var others: Set<FieldName> = []
            for record in rows.records where !record.unknown.isEmpty { others.formUnion(record.unknown.map(\.field)) }
            unknown = others.sorted()
        }
    }

    private static func write(
        _ record: Record, of collection: CollectionName, _ columns: Columns, to writer: inout JSONWriter
    ) throws(WireError) {
        guard record.values.count == columns.known.count else {
            throw WireError(
                .unencodable,
                "record \(record.id) has \(record.values.count) values; expected \(columns.known.count), as in its schema"
            )
        }
        writer.beginArray()
        writer.identifier(record.id.bits)
        writer.integer(record.uid.rawValue)
        writer.integer(record.version.rawValue)
        if record.fieldVersions.isEmpty {
            writer.null()
        } else {
            writer.beginArray()
            for version in record.fieldVersions { writer.integer(version.rawValue) }
            for _ in columns.unknown { writer.integer(record.version.rawValue) }
            writer.endArray()
        }
        for (name, value) in zip(columns.known, record.values) {
            try FieldValueCoding.write(value, of: FieldPlace(collection: collection, field: name), to: &writer)
        }
        for name in columns.unknown {
            let place = FieldPlace(collection: collection, field: name)
            try FieldValueCoding.write(record.unknown[name] ?? .null, of: place, to: &writer)
        }
        writer.endArray()
    }

    // MARK: Reading

    static func read(
        _ reader: inout JSONReader, catalog: SchemaCatalog, newest: inout (version: Version, offset: Int)
    ) throws(JSONError) -> SnapshotRows {
        try read(&reader, schema: { catalog[$0] }, checksTypes: true, newest: &newest)
    }

    /// - Parameters:
    ///   - schema: Returns the schema of a collection, which determines the places of the values in a record.
    ///   - checksTypes: Whether a value of another type than the schema declares is an error.
    static func read(
        _ reader: inout JSONReader, schema: (CollectionName) -> ModelSchema?, checksTypes: Bool,
        newest: inout (version: Version, offset: Int)
    ) throws(JSONError) -> SnapshotRows {
        var collection: CollectionName?
        var columns: [FieldName]?
        var records: [Record]?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "collection": collection = try reader.name()
            case "columns": columns = try readColumns(&reader)
            case "rows":
                guard let collection, let columns else {
                    throw reader.content("\"collection\" and \"columns\" come before \"rows\"", at: key.offset)
                }
                let layout = Layout(
                    columns: columns, collection: collection, schema: schema(collection), checksTypes: checksTypes)
                records = try readRows(&reader, layout, newest: &newest)
            default: try reader.unknown(key, .ignoringUnknownKeys)
            }
        }
        return SnapshotRows(
            collection: try reader.require(collection, "collection"), records: try reader.require(records, "rows"))
    }

    private static func readColumns(_ reader: inout JSONReader) throws(JSONError) -> [FieldName] {
        var seen: Set<FieldName> = []
        return try reader.list { (reader) throws(JSONError) in
            let name: FieldName = try reader.name()
            guard seen.insert(name).inserted else { throw reader.content("column \(name) occurs twice") }
            guard seen.count <= WireLimits.columns else {
                throw reader.content("at most \(WireLimits.columns) columns are allowed")
            }
            return name
        }
    }

    /// The mapping of the columns on the wire to the values of a record.
    struct Layout {
        let columns: [FieldName]
        let collection: CollectionName
        /// The types of the schema's fields.
        let types: [FieldType]
        /// The position of each column in the record; nil when the schema does not know the column.
        let positions: [Int?]
        /// Whether the columns are exactly the fields, in the same order, so that no value needs to be moved.
        let isStraight: Bool
        let checksTypes: Bool

        init(columns: [FieldName], collection: CollectionName, schema: ModelSchema?, checksTypes: Bool) {
            self.checksTypes = checksTypes
            self.columns = columns
            self.collection = collection
            types = schema?.fields.map(\.type) ?? []
            positions = columns.map { schema?.position(of: $0) }
            isStraight = positions == Array(types.indices)
        }
    }

    /// Reads rows. Their ids must increase, so that no record occurs twice.
    private static func readRows(
        _ reader: inout JSONReader, _ layout: Layout, newest: inout (version: Version, offset: Int)
    ) throws(JSONError) -> [Record] {
        var records: [Record] = []
        var elements = try reader.beginArray()
        while try reader.nextElement(&elements) {
            let start = reader.position
            let record = try readRow(&reader, layout)
            if let last = records.last, record.id <= last.id {
                throw reader.content("record \(record.id) does not come after \(last.id)", at: start)
            }
            if record.version > newest.version { newest = (record.version, start) }
            records.append(record)
        }
        return records
    }

    static func readRow(_ reader: inout JSONReader, _ layout: Layout) throws(JSONError) -> Record {
        var elements = try reader.beginArray()
        try expectElement(&reader, &elements, layout)
        let id = try reader.recordID()
        try expectElement(&reader, &elements, layout)
        let uid = try reader.uid()
        try expectElement(&reader, &elements, layout)
        let version = try reader.committedVersion()
        try expectElement(&reader, &elements, layout)
        let columnVersions = try readFieldVersions(&reader, layout, upTo: version)
        var record = Record(id: id, uid: uid, version: version, values: [])
        if layout.isStraight {
            record.values.reserveCapacity(layout.types.count)
        } else {
            record.values = Array(repeating: .null, count: layout.types.count)
        }
        for (column, position) in layout.positions.enumerated() {
            try expectElement(&reader, &elements, layout)
            let start = reader.position
            let value = try FieldValueCoding.read(
                &reader, of: FieldPlace(collection: layout.collection, field: layout.columns[column]))
            guard let position else {
                if !value.isNull { record.unknown.set(layout.columns[column], to: value) }
                continue
            }
            if layout.checksTypes {
                try ValueTypes.check(
                    value, layout.types[position], layout.columns[column], of: layout.collection, at: start)
            }
            if layout.isStraight { record.values.append(value) } else { record.values[position] = value }
        }
        guard try !reader.nextElement(&elements) else {
            throw reader.content("expected a row of \(layout.columns.count + 4) elements, and this one has more")
        }
        record.fieldVersions = fieldVersions(columnVersions, layout, of: version)
        return record
    }

    private static func expectElement(
        _ reader: inout JSONReader, _ elements: inout JSONReader.Elements, _ layout: Layout
    ) throws(JSONError) {
        guard try reader.nextElement(&elements) else {
            throw reader.content(
                "expected a row of \(layout.columns.count + 4) elements, and this one has fewer",
                at: reader.position - 1)
        }
    }

    private static func readFieldVersions(
        _ reader: inout JSONReader, _ layout: Layout, upTo version: Version
    ) throws(JSONError) -> [Version] {
        if try reader.null() { return [] }
        let start = reader.position
        let versions = try reader.list { (reader) throws(JSONError) in
            Version(try reader.integer(in: 0...version.rawValue, "the version of a field"))
        }
        guard versions.count == layout.columns.count else {
            throw reader.content(
                "\(versions.count) versions for \(layout.columns.count) columns", at: start)
        }
        return versions
    }

    private static func fieldVersions(_ versions: [Version], _ layout: Layout, of record: Version) -> [Version] {
        guard !versions.isEmpty else { return [] }
        var result = Array(repeating: record, count: layout.types.count)
        for (position, version) in zip(layout.positions, versions) {
            if let position { result[position] = version }
        }
        return result.allSatisfy { $0 == record } ? [] : result
    }
}
