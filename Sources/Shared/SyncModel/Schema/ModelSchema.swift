/// The declaration of one collection. It is all that the engine, the stores, and the authority know about a model.
public struct ModelSchema: Hashable, Sendable {
    /// The name of the collection on the wire and in the database.
    public let collection: CollectionName
    /// The fields, in the order of a record's values.
    public let fields: [FieldSchema]
    /// The rule for a delete whose author has not seen the latest edits.
    public let deleteRule: DeleteRule
    private let positions: [FieldName: Int]
    /// The positions of the fields, ordered by the names of the fields.
    private let positionsByName: [Int]

    /// Creates a schema. Traps when two fields share a name, when a name is reserved, or when there are too many
    /// fields, because schemas are written by programmers.
    public init(collection: CollectionName, fields: [FieldSchema], deleteRule: DeleteRule = .deleteWins) {
        precondition(fields.count <= SchemaLimits.fields, "\(collection) has more than \(SchemaLimits.fields) fields")
        var positions: [FieldName: Int] = [:]
        for (position, field) in fields.enumerated() {
            precondition(
                positions.updateValue(position, forKey: field.name) == nil, "\(collection).\(field.name) occurs twice")
            precondition(
                !Self.reservedNames.contains(field.name.rawValue), "\(collection).\(field.name) is a reserved name")
        }
        self.collection = collection
        self.fields = fields
        self.deleteRule = deleteRule
        self.positions = positions
        positionsByName = fields.indices.sorted { fields[$0].name < fields[$1].name }
    }

    /// Names that the stores use for their own columns.
    public static let reservedNames: Set<String> = ["id", "uid", "version", "rowid", "oid"]

    /// Returns the position of the field in `fields` and in a record's values; nil when there is no such field.
    public func position(of field: FieldName) -> Int? {
        positions[field]
    }

    /// Returns a walk along the fields in the order of their names.
    package func walkByName() -> NameWalk { NameWalk(fields: fields, order: positionsByName) }

    /// Finds the positions of fields whose names arrive in increasing order, without hashing each name.
    package struct NameWalk {
        fileprivate let fields: [FieldSchema]
        fileprivate let order: [Int]
        private var next = 0

        fileprivate init(fields: [FieldSchema], order: [Int]) {
            self.fields = fields
            self.order = order
        }

        /// Returns the position of the field; nil when the schema has no such field.
        ///
        /// - Parameter name: a name that comes after those of the calls before.
        package mutating func position(of name: FieldName) -> Int? {
            var text = name.rawValue
            return text.withUTF8 { position(of: $0) }
        }

        /// Returns the position of the field; nil when the schema has no such field.
        ///
        /// - Parameter name: a name in UTF-8 that comes after those of the calls before.
        package mutating func position(of name: UnsafeBufferPointer<UInt8>) -> Int? {
            while next < order.count {
                let position = order[next]
                let order = Self.order(of: fields[position].name, and: name)
                if order > 0 { return nil }
                next += 1
                if order == 0 { return position }
            }
            return nil
        }

        /// Returns a number below, equal to, or above zero if `candidate` is before, equal to, or after `name`.
        private static func order(of candidate: FieldName, and name: UnsafeBufferPointer<UInt8>) -> Int {
            var candidate = candidate.rawValue
            return candidate.withUTF8 { candidate in
                for index in 0..<min(candidate.count, name.count) where candidate[index] != name[index] {
                    return Int(candidate[index]) - Int(name[index])
                }
                return candidate.count - name.count
            }
        }
    }

    /// Returns the field with this name; nil when there is no such field.
    public func field(named name: FieldName) -> FieldSchema? {
        positions[name].map { fields[$0] }
    }

    /// The reason why a record of this model may be too long for a page, as a sentence; nil when every record fits. See
    /// `SchemaLimits.recordTextBytes`.
    package var lengthProblem: String? {
        let sum = fields.reduce(0) { sum, field in
            guard field.type == .text || field.type == .json else { return sum }
            let (total, overflows) = sum.addingReportingOverflow(field.maximumBytes)
            return overflows ? .max : total
        }
        guard sum > SchemaLimits.recordTextBytes else { return nil }
        return """
            the maximum lengths of the text and JSON fields of \(collection) add up to \(sum) bytes; at most \
            \(SchemaLimits.recordTextBytes) are allowed
            """
    }

    /// Checks the values of a create: every field must be known, every value must fit its field, and every required
    /// field must have a value.
    public func check(creating patch: Patch) throws(InvalidValueError) {
        try check(updating: patch)
        for field in fields where field.isRequired && patch[field.name] == nil {
            throw InvalidValueError(collection: collection, field: field.name, problem: .missing)
        }
    }

    /// Checks the values of an update: every field must be known, and every value must fit its field.
    public func check(updating patch: Patch) throws(InvalidValueError) {
        for (name, value) in patch { try check(value, of: name) }
    }

    /// Checks one value of an update: its field must be known, and the value must fit the field.
    func check(_ value: FieldValue, of name: FieldName) throws(InvalidValueError) {
        guard let position = positions[name] else {
            throw InvalidValueError(collection: collection, field: name, problem: .unknownField)
        }
        if let problem = fields[position].problem(with: value) {
            throw InvalidValueError(collection: collection, field: name, problem: problem)
        }
    }
}

/// All collections of an application, in a fixed order. A collection may refer to a later one.
public struct SchemaCatalog: Hashable, Sendable {
    /// The collections, in the order of their declaration. Snapshots contain them in the order of their names.
    public let models: [ModelSchema]
    private let positions: [CollectionName: Int]

    /// Creates a catalog. Traps when two models share a name, or when a reference names no collection, because catalogs
    /// are written by programmers.
    public init(_ models: [ModelSchema]) {
        var positions: [CollectionName: Int] = [:]
        for (position, model) in models.enumerated() {
            precondition(
                positions.updateValue(position, forKey: model.collection) == nil,
                "collection \(model.collection) occurs twice")
        }
        for model in models {
            for case let (field, target?) in model.fields.map({ ($0.name, $0.target) }) {
                precondition(
                    positions[target] != nil, "\(model.collection).\(field) refers to no collection: \(target)")
            }
        }
        self.models = models
        self.positions = positions
    }

    /// The schema of a collection; nil when the catalog does not contain it.
    public subscript(collection: CollectionName) -> ModelSchema? {
        positions[collection].map { models[$0] }
    }
}
