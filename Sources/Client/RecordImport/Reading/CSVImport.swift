package import SyncModel

/// A reader of CSV input whose first row names the columns.
///
/// The column `key` or `id` identifies the record; in a row with both, the `id` takes precedence. The column `space`
/// names the space of a new record. The columns `uid`, `version`, and `pending` are ignored, so that the output of
/// `record list --json`, converted to CSV without the `type` column, can be imported. All other columns are fields. The
/// column of a field with one of these names has a prefix, such as `field.id`. An empty cell leaves its field
/// unchanged.
package struct CSVImport: Sendable {
    let schema: ModelSchema
    let fallbackKey: FieldName?

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - schema: The model of the rows.
    ///   - fallbackKey: The field whose value is the key of a row that has neither a `key` nor an `id`; nil for none.
    package init(schema: ModelSchema, fallbackKey: FieldName?) {
        self.schema = schema
        self.fallbackKey = fallbackKey
    }

    /// Returns the rows and, for each row that cannot be imported, its error. An invalid header ends the reading.
    package func read(_ bytes: [UInt8]) -> ImportedRows {
        var result = ImportedRows()
        var header: [String]?
        for row in CSVTable(bytes) {
            do throws(ImportError) {
                let row = try row.get()
                guard let header else {
                    header = try columns(of: row)
                    continue
                }
                result.rows.append(try self.row(row, header: header))
            } catch {
                result.problems.append(error)
                // Without a header, no row can be interpreted.
                if header == nil { return result }
            }
        }
        if header == nil {
            let names =
                [RowBuilder.keyName, RowBuilder.idName, RowBuilder.spaceName] + schema.fields.map(\.name.rawValue)
            result.problems.append(
                ImportError(
                    line: 0,
                    "the input is empty; the first row must name one or more of these columns: \(names.joined(separator: ", "))"
                ))
        }
        return result
    }

    private func columns(of row: CSVTable.Row) throws(ImportError) -> [String] {
        var seen: Set<String> = []
        var fields = RowBuilder(schema: schema, line: row.line)
        for name in row.cells {
            guard seen.insert(name).inserted else {
                throw ImportError(line: row.line, "the column '\(name.prefix(64))' occurs twice")
            }
            if RowBuilder.plainNames.contains(name) || RowBuilder.exportedNames.contains(name) { continue }
            _ = try fields.claim(name)
        }
        return row.cells
    }

    private func row(_ row: CSVTable.Row, header: [String]) throws(ImportError) -> ImportRow {
        guard row.cells.count == header.count else {
            throw ImportError(
                line: row.line, "the row has \(row.cells.count) columns; expected \(header.count), as in the first row")
        }
        var builder = RowBuilder(schema: schema, line: row.line)
        for (name, cell) in zip(header, row.cells) where !cell.isEmpty {
            if name == RowBuilder.keyName {
                try builder.setKey(cell)
            } else if name == RowBuilder.idName {
                try builder.setID(cell)
            } else if name == RowBuilder.spaceName {
                try builder.setSpace(cell)
            } else if !RowBuilder.exportedNames.contains(name) {
                let field = try builder.field(name)
                if field.type == .reference {
                    try builder.setReference(field, to: cell)
                } else {
                    try builder.set(field, to: try value(cell, field, row.line))
                }
            }
        }
        return try builder.finish(fallbackKey: fallbackKey)
    }

    private func value(_ cell: String, _ field: FieldSchema, _ line: Int) throws(ImportError) -> FieldValue {
        guard let value = FieldValue(cell, of: field) else {
            throw ImportError(
                line: line, "\(schema.collection).\(field.name): \(field.problem(parsing: cell))")
        }
        return value
    }
}
