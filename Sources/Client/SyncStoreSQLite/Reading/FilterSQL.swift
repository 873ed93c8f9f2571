import SyncModel

/// A filter as SQL. Names come from the schema, and values are bound.
///
/// A filter is true or false, but an SQL condition can also be NULL. Such a condition must count as false, and its
/// negation as true. Negations are therefore pushed down to the single conditions, which become `(…) IS NOT TRUE`.
/// Conditions that are not negated stay plain, so that SQLite can use an index for them.
///
/// SQLite's parser holds at most 100 symbols of unfinished expressions: one for a parenthesis that is open, and two for
/// each part before it. In a deep filter, the deepest part therefore comes first.
struct FilterSQL {
    private(set) var values: [FieldValue] = []
    /// The number of the first parameter.
    private let first: Int

    init(firstParameter: Int) {
        first = firstParameter
    }

    /// Returns the SQL of a filter over the records of one space, or over all if `space` is nil.
    mutating func condition(_ filter: RecordFilter, in space: SpaceID?) -> String {
        let condition = condition(filter)
        guard let space else { return condition }
        let key = "(SELECT key FROM sync_space WHERE name = \(bind(.text(space.rawValue))))"
        return condition == "1" ? "sync_space = \(key)" : "\(condition) AND sync_space = \(key)"
    }

    /// Returns the SQL of a filter, and appends the values that it binds to `values`.
    mutating func condition(_ filter: RecordFilter, negated: Bool = false) -> String {
        switch filter {
        case .all(let parts): return join(parts, negated ? " OR " : " AND ", empty: negated ? "0" : "1", negated)
        case .any(let parts): return join(parts, negated ? " AND " : " OR ", empty: negated ? "1" : "0", negated)
        case .not(let inner): return condition(inner, negated: !negated)
        case .compare(let term, let comparison, let value):
            let column = Self.column(term)
            switch comparison {
            case .equal: return "\(column) \(negated ? "IS NOT" : "IS") \(bind(value))"
            case .notEqual: return "\(column) \(negated ? "IS" : "IS NOT") \(bind(value))"
            case .less, .lessOrEqual, .greater, .greaterOrEqual:
                return test("\(column) \(comparison.rawValue) \(bind(value))", negated)
            }
        case .isIn(let field, let values):
            let column = Self.column(.field(field))
            let bound = values.filter { !$0.isNull }.map { bind($0) }.joined(separator: ", ")
            let isListed = "\(column) IN (\(bound))"
            guard values.contains(where: \.isNull) else { return test(isListed, negated) }
            return test("(\(isListed) OR \(column) IS NULL)", negated)
        case .hasPrefix(let field, let prefix):
            let column = Self.column(.field(field))
            guard !prefix.isEmpty else { return "\(column) \(negated ? "IS" : "IS NOT") NULL" }
            var range = "\(column) >= \(bind(.text(prefix)))"
            if let end = Self.successor(ofPrefix: prefix) { range += " AND \(column) < \(bind(.text(end)))" }
            return test("(\(range))", negated)
        case .contains(let field, let part):
            return test("instr(\(Self.column(.field(field))), \(bind(.text(part)))) > 0", negated)
        }
    }

    private mutating func join(_ parts: [RecordFilter], _ word: String, empty: String, _ negated: Bool) -> String {
        guard !parts.isEmpty else { return empty }
        let depths = parts.map(\.depth)
        var conditions = parts.map { condition($0, negated: negated) }
        // Other filters keep their order, in which SQLite evaluates the parts.
        if let deepest = depths.max(), deepest >= Self.depthInOrder {
            conditions = depths.indices.sorted { (depths[$0], $1) > (depths[$1], $0) }.map { conditions[$0] }
        }
        return "(" + conditions.joined(separator: word) + ")"
    }

    /// The depth from which the order of the parts matters to the parser.
    private static let depthInOrder = 4

    private func test(_ condition: String, _ negated: Bool) -> String {
        negated ? "(\(condition)) IS NOT TRUE" : condition
    }

    private mutating func bind(_ value: FieldValue) -> String {
        values.append(value)
        return "?\(first + values.count - 1)"
    }

    static func column(_ term: RecordTerm) -> String {
        switch term {
        case .id: "id"
        case .uid: "uid"
        case .field(let name): RecordTable.quote(name.rawValue)
        }
    }

    /// Returns the first text after all texts with this prefix; nil if there is none.
    ///
    /// The last scalar is incremented, because the order of scalars is the order of the UTF-8 bytes that SQLite
    /// compares.
    private static func successor(ofPrefix prefix: String) -> String? {
        var scalars = Array(prefix.unicodeScalars)
        while let last = scalars.popLast() {
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            var text = String.UnicodeScalarView(scalars)
            text.append(scalar)
            return String(text)
        }
        return nil
    }
}

extension RecordFilter {
    /// The number of lists inside one another.
    fileprivate var depth: Int {
        switch self {
        case .all(let parts), .any(let parts): 1 + (parts.map(\.depth).max() ?? 0)
        case .not(let inner): inner.depth
        case .compare, .isIn, .hasPrefix, .contains: 0
        }
    }
}
