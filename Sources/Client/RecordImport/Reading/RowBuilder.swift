import SyncModel

/// Builds an `ImportRow` from names and values, according to the schema of its collection.
struct RowBuilder {
    let schema: ModelSchema
    let line: Int
    private var identity: ImportRow.Identity?
    private var space: SpaceID?
    private var patch = Patch()
    private var links: [ImportRow.Link] = []
    private var claimed: Set<FieldName> = []

    init(schema: ModelSchema, line: Int) {
        self.schema = schema
        self.line = line
    }

    /// Names that every collection accepts in addition to its fields.
    static let keyName = "key"
    static let idName = "id"
    static let spaceName = "space"
    static let plainNames: Set<String> = [keyName, idName, spaceName]
    /// Columns that an export adds and an import ignores, because the server or the device determines them.
    static let exportedNames: Set<String> = ["uid", "version", "pending"]
    /// Names that a row or a line of JSON Lines uses for itself. A field with such a name has the prefix.
    fileprivate static let reservedNames = plainNames.union(exportedNames).union(["type", "result", "intent"])

    /// Sets the key that identifies the row. An id takes precedence.
    mutating func setKey(_ key: String) throws(ImportError) {
        guard !key.isEmpty, key.utf8.count <= 1_024 else {
            throw ImportError(line: line, "the key is empty or longer than 1024 bytes")
        }
        if identity == nil { identity = .key(key) }
    }

    mutating func setID(_ text: String) throws(ImportError) {
        guard let id = RecordID(text) else {
            throw ImportError(
                line: line, "id: '\(text.prefix(64))' is not a UUID such as 01890a5d-ac96-774b-bcce-b302099a8057")
        }
        identity = .record(id)
    }

    mutating func setSpace(_ text: String) throws(ImportError) {
        guard let space = SpaceID(rawValue: text) else {
            throw ImportError(line: line, "space: '\(text.prefix(64))' is not the name of a space, such as team_7")
        }
        self.space = space
    }

    /// The prefix that an export gives to fields whose names have another meaning in a row.
    static let fieldPrefix = "field."

    /// Returns the field with a name, which may have the prefix of exported fields.
    ///
    /// - Throws: An `ImportError` when the collection has no such field.
    func field(_ name: String) throws(ImportError) -> FieldSchema {
        let plain = name.hasPrefix(Self.fieldPrefix) ? String(name.dropFirst(Self.fieldPrefix.count)) : name
        guard let fieldName = FieldName(rawValue: plain), let field = schema.field(named: fieldName) else {
            let known = schema.fields.map(\.name.rowKey).joined(separator: ", ")
            throw ImportError(
                line: line, "\(schema.collection) has no field '\(name.prefix(64))'; expected key, id, space, \(known)")
        }
        return field
    }

    /// Returns the field with a name, and fails if the field was claimed before.
    ///
    /// `field.title` and `title` are the same field.
    ///
    /// - Throws: An `ImportError` when the collection has no such field, or when the field was claimed before.
    mutating func claim(_ name: String) throws(ImportError) -> FieldSchema {
        let field = try field(name)
        guard claimed.insert(field.name).inserted else {
            throw ImportError(line: line, "'\(name.prefix(64))' names the field \(field.name) for a second time")
        }
        return field
    }

    mutating func set(_ field: FieldSchema, to value: FieldValue) throws(ImportError) {
        let value = field.normalized(value)
        if let problem = field.problem(with: value) {
            let invalid = InvalidValueError(collection: schema.collection, field: field.name, problem: problem)
            throw ImportError(line: line, invalid.description)
        }
        patch.set(field.name, to: value)
    }

    /// Sets a reference from text: the id of a record, or `@` followed by the key of a row.
    mutating func setReference(_ field: FieldSchema, to text: String) throws(ImportError) {
        guard let target = field.target else { return }
        if text.utf8.first == UInt8(ascii: "@"), text.utf8.count > 1 {
            links.append(
                ImportRow.Link(field: field.name, target: target, key: String(text.unicodeScalars.dropFirst())))
        } else if let id = RecordID(text) {
            patch.set(field.name, to: .reference(id))
        } else {
            throw ImportError(
                line: line,
                "\(schema.collection).\(field.name): '\(text.prefix(64))' is not a valid reference; expected a UUID, or @ and the key of a row"
            )
        }
    }

    /// Returns the row.
    ///
    /// - Parameter fallbackKey: The field whose text becomes the key of a row that has neither a key nor an id; nil for
    ///   none.
    /// - Throws: An `ImportError` when nothing identifies the row.
    func finish(fallbackKey: FieldName?) throws(ImportError) -> ImportRow {
        var row = self
        if identity == nil, let fallbackKey, case .text(let text)? = patch[fallbackKey] { try row.setKey(text) }
        guard let identity = row.identity else {
            let names = [Self.keyName, Self.idName] + (fallbackKey.map { [$0.rawValue] } ?? [])
            throw ImportError(
                line: line, "the row does not identify a record; expected one of \(names.joined(separator: ", "))")
        }
        return ImportRow(
            line: line, collection: schema.collection, identity: identity, space: space, patch: patch, links: links)
    }
}

extension FieldName {
    /// The name of the field in a row or a line of JSON Lines: with the prefix `field.` if the name alone has another
    /// meaning there, such as `id`.
    package var rowKey: String {
        RowBuilder.reservedNames.contains(rawValue) ? RowBuilder.fieldPrefix + rawValue : rawValue
    }
}
