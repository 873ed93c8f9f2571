extension RecordFilter {
    /// Returns whether a record meets the filter. Names that the schema does not have compare as missing values.
    public func matches(_ record: Record, schema: ModelSchema) -> Bool {
        switch self {
        case .all(let parts): return parts.allSatisfy { $0.matches(record, schema: schema) }
        case .any(let parts): return parts.contains { $0.matches(record, schema: schema) }
        case .not(let inner): return !inner.matches(record, schema: schema)
        case .compare(let term, let comparison, let value):
            return comparison.holds(term.value(in: record, schema: schema), value)
        case .isIn(let field, let values):
            let found = RecordTerm.field(field).value(in: record, schema: schema)
            return values.contains { found.compare(to: $0) == 0 }
        case .hasPrefix(let field, let prefix):
            guard case .text(let text) = RecordTerm.field(field).value(in: record, schema: schema) else { return false }
            return text.utf8.starts(with: prefix.utf8)
        case .contains(let field, let part):
            guard case .text(let text) = RecordTerm.field(field).value(in: record, schema: schema) else { return false }
            return Self.contains(Array(text.utf8), Array(part.utf8))
        }
    }

    private static func contains(_ text: [UInt8], _ part: [UInt8]) -> Bool {
        guard text.count >= part.count else { return false }
        return (0...(text.count - part.count)).contains { text[$0...].starts(with: part) }
    }

    /// Returns the first error in the filter as a sentence; nil when there is none. An error is an unknown field, a
    /// value of another type, or a filter that exceeds a limit.
    public func problem(in schema: ModelSchema) -> String? {
        excess(in: schema.collection.rawValue) ?? typeProblem(in: schema)
    }

    /// Returns the limits that the filter exceeds, as a sentence; nil when it exceeds none.
    ///
    /// Only a filter within the limits may be passed to recursive functions.
    package func excess(in collection: String) -> String? {
        let size = size
        if size.terms > SchemaLimits.filterTerms || size.values > SchemaLimits.filterValues {
            return """
                a filter on \(collection) has \(size.terms) conditions and \(size.values) values in lists; at most \
                \(SchemaLimits.filterTerms) and \(SchemaLimits.filterValues) are allowed
                """
        }
        if size.depth > SchemaLimits.filterDepth {
            return """
                a filter on \(collection) nests its conditions \(size.depth) levels deep; at most \
                \(SchemaLimits.filterDepth) are allowed. Use fewer &&, ||, and ! inside one another, or a list of values
                """
        }
        return nil
    }

    /// The numbers of conditions, of values in lists, and of lists and negations inside one another.
    ///
    /// The computation is iterative, because the depth of an unchecked filter has no limit.
    private var size: (terms: Int, values: Int, depth: Int) {
        var size = (terms: 0, values: 0, depth: 0)
        var rest = [(filter: self, depth: 0)]
        while let (filter, depth) = rest.popLast() {
            size.depth = max(size.depth, depth)
            switch filter {
            case .all(let parts), .any(let parts):
                size.depth = max(size.depth, depth + 1)
                for part in parts { rest.append((part, depth + 1)) }
            case .not(let inner): rest.append((inner, depth + 1))
            case .compare, .hasPrefix, .contains: size.terms += 1
            case .isIn(_, let values):
                size.terms += 1
                size.values += values.count
            }
        }
        return size
    }

    /// Returns the first unknown field or value of another type as a sentence; nil when there is none. Limits are not
    /// checked.
    package func typeProblem(in schema: ModelSchema) -> String? {
        switch self {
        case .all(let parts), .any(let parts): return parts.lazy.compactMap { $0.typeProblem(in: schema) }.first
        case .not(let inner): return inner.typeProblem(in: schema)
        case .compare(.field(let name), let comparison, let value):
            return schema.problem(comparing: name, with: [value], isOrdered: comparison.isOrdered)
        case .compare(let term, let comparison, let value):
            switch (term, value) {
            case (.id, .reference), (.uid, .integer): return nil
            default: return "\(schema.collection).\(term) \(comparison.rawValue) \(value): the types differ"
            }
        case .isIn(let name, let values): return schema.problem(comparing: name, with: values, isOrdered: false)
        case .hasPrefix(let name, let text), .contains(let name, let text):
            return schema.problem(comparing: name, with: [.text(text)], isOrdered: true)
        }
    }
}

extension ModelSchema {
    fileprivate func problem(comparing name: FieldName, with values: [FieldValue], isOrdered: Bool) -> String? {
        guard let field = field(named: name) else { return "\(collection).\(name): there is no such field" }
        for value in values {
            guard let type = value.type else {
                if isOrdered {
                    return "\(collection).\(name) cannot be compared with nil by order; use == nil or != nil"
                }
                continue
            }
            if type != field.type {
                return "\(collection).\(name) holds \(field.type.rawValue), and was compared with \(type.rawValue)"
            }
        }
        return nil
    }
}

extension RecordFilter.Comparison {
    /// Whether the comparison needs an order: a missing value is never before or after another.
    public var isOrdered: Bool {
        switch self {
        case .equal, .notEqual: false
        case .less, .lessOrEqual, .greater, .greaterOrEqual: true
        }
    }

    package func holds(_ left: FieldValue, _ right: FieldValue) -> Bool {
        let order = left.compare(to: right)
        switch self {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard !left.isNull, !right.isNull else { return false }
            return switch self {
            case .less: order < 0
            case .lessOrEqual: order <= 0
            case .greater: order > 0
            default: order >= 0
            }
        }
    }
}

extension RecordTerm {
    /// The value of the term in a record; null for a field that the schema does not have.
    package func value(in record: Record, schema: ModelSchema) -> FieldValue {
        switch self {
        case .id: .reference(record.id)
        case .uid: .integer(record.uid.rawValue)
        case .field(let name): schema.position(of: name).map { record.values[$0] } ?? .null
        }
    }
}
