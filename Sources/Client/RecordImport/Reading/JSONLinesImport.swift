import SyncJSON
package import SyncModel
import TomboloModeling

/// A reader of JSON Lines, with one object per line.
///
/// `type` names the collection, and `key` or `id` identifies the record; in an object with both, the `id` takes
/// precedence. `space` names the space of a new record. `uid`, `version`, and `pending` are ignored, so that the output
/// of `record list --json` can be imported. All other members are fields. A field with the name of one of these members
/// has the member `field.type`, for example.
package struct JSONLinesImport: Sendable {
    let catalog: SchemaCatalog
    let fallbackKeys: [CollectionName: FieldName]

    /// Creates a reader.
    ///
    /// - Parameters:
    ///   - fallbackKeys: The fields that serve as keys when there is no `key` or `id`.
    package init(catalog: SchemaCatalog, fallbackKeys: [CollectionName: FieldName]) {
        self.catalog = catalog
        self.fallbackKeys = fallbackKeys
    }

    /// Returns the rows and, for each line that cannot be imported, its error.
    package func read(_ bytes: [UInt8]) -> ImportedRows {
        var result = ImportedRows()
        for (number, line) in InputLines(bytes) where !line.isBlank {
            do throws(ImportError) {
                result.rows.append(try row(line, number))
            } catch {
                result.problems.append(error)
            }
        }
        return result
    }

    private func row(_ line: ArraySlice<UInt8>, _ number: Int) throws(ImportError) -> ImportRow {
        guard line.count <= ImportLimits.rowBytes else {
            throw ImportError(line: number, "the line is longer than \(ImportLimits.rowBytes) bytes")
        }
        let members: [Member]?
        do throws(JSONError) {
            members = try JSONReader.read(Array(line)) { (reader) throws(JSONError) in try Self.members(&reader) }
        } catch {
            throw ImportError(line: number, "not JSON: \(error)")
        }
        guard let members else {
            throw ImportError(line: number, "expected an object, such as {\"type\": \"user\", \"key\": \"ned\", …}")
        }
        let type = members.first { $0.key == Self.typeName }?.value
        var builder = RowBuilder(schema: try schema(type, number), line: number)
        for member in members where member.key != Self.typeName && !RowBuilder.exportedNames.contains(member.key) {
            try set(member, in: &builder)
        }
        return try builder.finish(fallbackKey: fallbackKeys[builder.schema.collection])
    }

    /// A member of a line's object.
    private struct Member {
        let key: String
        /// The value as it was written. A JSON field stores this text, because numbers in `value` may be rounded.
        let text: String
        let value: JSONValue

        /// The value as JSON, cut after 64 characters.
        var shortText: String { text.count > 64 ? "\(text.prefix(64))…" : text }
    }

    /// Returns the members of an object, or nil if the value is of another type.
    private static func members(_ reader: inout JSONReader) throws(JSONError) -> [Member]? {
        guard try reader.kind() == .object else {
            try reader.skip()
            return nil
        }
        var result: [Member] = []
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            let text = try reader.verbatim()
            result.append(Member(key: key.text, text: text, value: try JSONValue(Array(text.utf8))))
        }
        return result
    }

    private static let typeName = "type"

    private func schema(_ type: JSONValue?, _ number: Int) throws(ImportError) -> ModelSchema {
        let known = catalog.models.map(\.collection.rawValue).sorted().joined(separator: ", ")
        guard case .string(let type)? = type else {
            throw ImportError(line: number, "\"type\" is missing or not text; expected one of \(known)")
        }
        guard let name = CollectionName(rawValue: type), let schema = catalog[name] else {
            throw ImportError(line: number, "there is no collection '\(type.prefix(64))'; expected one of \(known)")
        }
        return schema
    }

    private func set(_ member: Member, in builder: inout RowBuilder) throws(ImportError) {
        switch (member.key, member.value) {
        case (RowBuilder.keyName, .string(let key)): try builder.setKey(key)
        case (RowBuilder.idName, .string(let id)): try builder.setID(id)
        case (RowBuilder.spaceName, .string(let space)): try builder.setSpace(space)
        case (RowBuilder.keyName, _), (RowBuilder.idName, _), (RowBuilder.spaceName, _):
            throw ImportError(line: builder.line, "\(member.key) is not text")
        default:
            let field = try builder.claim(member.key)
            if case .string(let text) = member.value, field.type == .reference {
                try builder.setReference(field, to: text)
            } else {
                try builder.set(field, to: try fieldValue(member, field, builder))
            }
        }
    }

    private func fieldValue(
        _ member: Member, _ field: FieldSchema, _ builder: RowBuilder
    ) throws(ImportError) -> FieldValue {
        switch (field.type, member.value) {
        case (_, .null): return .null
        case (.text, .string(let text)): return .text(text)
        case (.integer, .integer(let number)): return .integer(number)
        case (.integer, .string(let text)) where field.isDate:
            guard let date = field.date(text) else { break }
            return date
        case (.real, .integer(let number)): return .real(Double(number))
        case (.real, .real(let number)): return .real(number)
        case (.boolean, .boolean(let bool)): return .boolean(bool)
        case (.json, _): return .json(member.text)
        case (.text, _), (.integer, _), (.real, _), (.boolean, _), (.reference, _): break
        }
        throw ImportError(
            line: builder.line,
            "\(builder.schema.collection).\(field.name): \(member.shortText) is not \(field.isDate ? "a valid date" : "of the type \(field.type.rawValue)"); expected \(field.expectation)"
        )
    }
}
