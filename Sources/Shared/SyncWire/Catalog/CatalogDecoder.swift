import SyncJSON
import SyncModel

/// A decoder of catalogs.
///
/// It throws an error with an offset for everything that would trap in the initializers of the model types.
struct CatalogDecoder {
    /// Whether a store wrote the catalog, possibly one of another build. Longer texts and records, and unknown keys,
    /// are errors only in other catalogs.
    let isStored: Bool
    private var longestText: Int { isStored ? SchemaLimits.transactionBytes : SchemaLimits.longestTextBytes }
    /// The targets of the references, which are checked once all collections are known.
    private var references: [(target: CollectionName, offset: Int)] = []

    init(isStored: Bool) {
        self.isStored = isStored
    }

    /// Maximum number of models. A catalog that a person writes has a few dozen.
    static let largestCount = 1_000

    mutating func catalog(
        _ reader: inout JSONReader, _ rule: (String) -> FieldRule?
    ) throws(JSONError) -> SchemaCatalog {
        var format: Int64?
        var models: [ModelSchema]?
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            // Editors find the JSON schema by this key. The decoder ignores it.
            case "$schema": try reader.skip()
            case "format": format = try reader.integer(in: 1...Int64(CatalogCodec.format), "the format")
            case "models": models = try self.models(&reader, rule)
            default: try handleUnknown(key, &reader, expected: ["format", "models"])
            }
        }
        _ = try reader.require(format, "format")
        let catalog = try reader.require(models, "models")
        let names = catalog.map(\.collection.rawValue)
        for reference in references where !names.contains(reference.target.rawValue) {
            throw reader.content(
                "there is no collection \(reference.target)" + Self.advice(reference.target.rawValue, names),
                at: reference.offset)
        }
        return SchemaCatalog(catalog)
    }

    private mutating func models(
        _ reader: inout JSONReader, _ rule: (String) -> FieldRule?
    ) throws(JSONError) -> [ModelSchema] {
        var models: [ModelSchema] = []
        var elements = try reader.beginArray()
        while try reader.nextElement(&elements) {
            _ = try reader.kind()
            let start = reader.position
            let model = try self.model(&reader, rule)
            guard !models.contains(where: { $0.collection == model.collection }) else {
                throw reader.content("the collection \(model.collection) occurs twice", at: start)
            }
            models.append(model)
            guard models.count <= Self.largestCount else {
                throw reader.content("more than \(Self.largestCount) collections", at: start)
            }
        }
        return models
    }

    private mutating func model(
        _ reader: inout JSONReader, _ rule: (String) -> FieldRule?
    ) throws(JSONError) -> ModelSchema {
        let start = reader.position
        var collection: CollectionName?
        var fields: [FieldSchema]?
        var deleteRule = DeleteRule.deleteWins
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "collection": collection = try reader.name()
            case "onDelete": deleteRule = try Self.word(&reader)
            case "fields": fields = try self.fields(&reader, rule)
            default: try handleUnknown(key, &reader, expected: ["collection", "onDelete", "fields"])
            }
        }
        let model = ModelSchema(
            collection: try reader.require(collection, "collection"), fields: try reader.require(fields, "fields"),
            deleteRule: deleteRule)
        if !isStored, let problem = model.lengthProblem { throw reader.content(problem, at: start) }
        return model
    }

    private mutating func fields(
        _ reader: inout JSONReader, _ rule: (String) -> FieldRule?
    ) throws(JSONError) -> [FieldSchema] {
        var fields: [FieldSchema] = []
        var elements = try reader.beginArray()
        while try reader.nextElement(&elements) {
            _ = try reader.kind()
            let start = reader.position
            let field = try self.field(&reader, rule)
            guard !fields.contains(where: { $0.name == field.name }) else {
                throw reader.content("the field \(field.name) occurs twice", at: start)
            }
            guard !ModelSchema.reservedNames.contains(field.name.rawValue) else {
                throw reader.content("\(field.name) is a reserved name; choose another", at: start)
            }
            fields.append(field)
            guard fields.count <= SchemaLimits.fields else {
                throw reader.content("more than \(SchemaLimits.fields) fields in one collection", at: start)
            }
        }
        return fields
    }

    private mutating func field(
        _ reader: inout JSONReader, _ rule: (String) -> FieldRule?
    ) throws(JSONError) -> FieldSchema {
        _ = try reader.kind()
        let start = reader.position
        var parts = FieldParts()
        var members = try reader.beginObject()
        while let key = try reader.nextKey(&members) {
            switch key {
            case "name": parts.name = try reader.name()
            case "type": parts.type = try Self.word(&reader)
            case "required": parts.isRequired = try reader.boolean()
            case "minimumBytes": parts.minimumBytes = try length(&reader, "the minimum")
            case "maximumBytes": parts.maximumBytes = try length(&reader, "the maximum")
            case "merge": parts.merge = try Self.word(&reader)
            case "minimum": parts.minimum = try reader.number()
            case "maximum": parts.maximum = try reader.number()
            case "default": parts.defaultValue = try defaultValue(&reader)
            case "indexed": parts.isIndexed = try reader.boolean()
            case "format":
                _ = try reader.kind()
                let offset = reader.position
                let format = try reader.text(bytes: WireLimits.opaqueBytes, "the format")
                guard format == CatalogCodec.dateFormat else {
                    throw reader.content("expected \(CatalogCodec.dateFormat), found '\(format)'", at: offset)
                }
                parts.isDate = true
            case "target":
                _ = try reader.kind()
                let offset = reader.position
                let target: CollectionName = try reader.name()
                references.append((target, offset))
                parts.target = target
            case "rule":
                _ = try reader.kind()
                let offset = reader.position
                let name = try reader.text(bytes: WireLimits.opaqueBytes, "the name of the rule")
                guard let rule = rule(name) else {
                    throw reader.content(
                        "this program has no rule '\(name)': register a rule with this name, or omit it",
                        at: offset)
                }
                parts.rule = rule
            default: try handleUnknown(key, &reader, expected: FieldParts.keys)
            }
        }
        return try parts.field(reader, at: start)
    }

    private func defaultValue(_ reader: inout JSONReader) throws(JSONError) -> FieldParts.Default {
        switch try reader.kind() {
        case .boolean: .boolean(try reader.boolean())
        case .number: .number(try reader.number())
        default: .text(try reader.text(bytes: longestText, "the default"))
        }
    }

    private func length(_ reader: inout JSONReader, _ what: StaticString) throws(JSONError) -> Int {
        Int(try reader.integer(in: 0...Int64(longestText), what))
    }

    private static func word<Word: CaseIterable & RawRepresentable<String>>(
        _ reader: inout JSONReader
    ) throws(JSONError) -> Word {
        _ = try reader.kind()
        let start = reader.position
        let text = try reader.text(bytes: WireLimits.opaqueBytes, "the word")
        guard let word = Word(rawValue: text) else {
            let words = Word.allCases.map(\.rawValue)
            throw reader.content("expected one of \(words.joined(separator: ", ")), found '\(text)'", at: start)
        }
        return word
    }

    /// Skips an unknown key of a stored catalog, and refuses it in others.
    private func handleUnknown(_ key: JSONKey, _ reader: inout JSONReader, expected: [String]) throws(JSONError) {
        guard !isStored else { return try reader.skip() }
        throw JSONError(
            .content, at: key.offset,
            "unknown key \(key.quoted); expected one of \(expected.joined(separator: ", "))"
                + Self.advice(key.text, expected))
    }

    private static func advice(_ word: String, _ names: [String]) -> String {
        NearestName.suggestion(for: word, among: names).map { ", did you mean \($0)?" } ?? ""
    }
}

/// The members of a field, before they are checked against each other.
private struct FieldParts {
    static let keys = [
        "name", "type", "target", "required", "minimumBytes", "maximumBytes", "rule", "merge", "minimum", "maximum",
        "default", "indexed", "format",
    ]

    /// A default value, before it is checked against the type.
    enum Default {
        case boolean(Bool)
        case number(JSONNumber)
        case text(String)
    }

    var name: FieldName?
    var type: FieldType?
    var target: CollectionName?
    var isRequired = false
    var minimumBytes: Int?
    var maximumBytes: Int?
    var rule: FieldRule?
    var merge = MergeRule.latestEdit
    var minimum: JSONNumber?
    var maximum: JSONNumber?
    var defaultValue: Default?
    var isIndexed = false
    var isDate = false

    func field(_ reader: borrowing JSONReader, at offset: Int) throws(JSONError) -> FieldSchema {
        func failure(_ problem: String) -> JSONError { JSONError(.content, at: offset, problem) }
        guard let name else { throw failure("\"name\" is missing") }
        guard let type else { throw failure("\(name): \"type\" is missing") }
        guard target == nil || type == .reference else { throw failure("\(name): only a reference has a target") }
        guard !isDate || type == .integer else {
            throw failure("\(name): only an integer has the format \(CatalogCodec.dateFormat)")
        }
        if !type.hasLength, minimumBytes != nil || maximumBytes != nil || rule != nil {
            throw failure("\(name): only text and json have a length or a rule")
        }
        let (minimum, maximum) = (minimumBytes ?? 0, maximumBytes ?? SchemaLimits.textBytes)
        guard minimum <= maximum else {
            throw failure("\(name): the minimum of \(minimum) bytes is greater than the maximum of \(maximum)")
        }
        var field: FieldSchema
        switch type {
        case .text: field = .text(name, required: isRequired, bytes: minimum...maximum, rule: rule, merge: merge)
        case .json: field = .json(name, required: isRequired, bytes: minimum...maximum, rule: rule, merge: merge)
        case .integer: field = .integer(name, required: isRequired, merge: merge)
        case .real: field = .real(name, required: isRequired, merge: merge)
        case .boolean: field = .boolean(name, required: isRequired, merge: merge)
        case .reference:
            guard let target else { throw failure("\(name): a reference needs a \"target\"") }
            field = .reference(name, to: target, required: isRequired, merge: merge)
        }
        if let bounds = try bounds(of: type, or: { failure("\(name): \($0)") }) { field = field.bounded(by: bounds) }
        if let defaultValue {
            guard let value = Self.value(of: defaultValue, as: type), field.problem(with: value) == nil else {
                throw failure("\(name): the default is not a valid value of this field")
            }
            if case .json(let text) = value, !CatalogCodec.isJSON(text) {
                throw failure("\(name): the default is not JSON")
            }
            field = field.defaulting(to: value)
        }
        if isDate { field = field.holdingDates() }
        return isIndexed ? field.indexed() : field
    }

    private func bounds(
        of type: FieldType, or failure: (_ problem: String) -> JSONError
    ) throws(JSONError) -> FieldBounds? {
        switch (type, minimum, maximum) {
        case (_, nil, nil):
            return nil
        case (.integer, .integer(let low)?, .integer(let high)?) where low <= high:
            return .integer(low...high)
        case (.real, let low?, let high?) where low.double <= high.double:
            return .real(low.double...high.double)
        case (.integer, .integer?, .integer?), (.real, _?, _?):
            throw failure("the minimum is greater than the maximum")
        case (.integer, _?, _?):
            throw failure("the minimum and the maximum of an integer field are integers within 64 bits")
        case (.integer, _, _), (.real, _, _):
            throw failure("expected a minimum and a maximum, or neither")
        case (.boolean, _, _), (.text, _, _), (.reference, _, _), (.json, _, _):
            throw failure("only integer and real fields have a minimum and a maximum")
        }
    }

    private static func value(of defaultValue: Default, as type: FieldType) -> FieldValue? {
        switch (defaultValue, type) {
        case (.boolean(let value), .boolean): .boolean(value)
        case (.number(.integer(let value)), .integer): .integer(value)
        case (.number(let value), .real): .real(value.double)
        case (.text(let value), .text): .text(value)
        case (.text(let value), .json): .json(value)
        default: nil
        }
    }
}

extension JSONNumber {
    fileprivate var double: Double {
        switch self {
        case .integer(let value): Double(value)
        case .real(let value), .rounded(let value): value
        }
    }
}
