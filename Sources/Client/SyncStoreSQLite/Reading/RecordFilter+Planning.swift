import SyncModel

extension RecordFilter {
    /// Returns the filter without the tests for missing values that are the same for all records, because no record
    /// lacks the value.
    ///
    /// A comparison that the default of its field meets also accepts records without a value. With this alternative,
    /// SQLite cannot read matching records in the order of the field's index.
    ///
    /// - Parameter isComplete: Returns whether all records have a value in the field.
    func withoutNeedlessTests(_ isComplete: (FieldName) throws -> Bool) rethrows -> RecordFilter {
        switch self {
        case .any(let parts):
            let rest = try Self.rest(of: parts, without: true, isComplete)
            return rest.count == 1 ? rest[0] : .any(rest)
        case .all(let parts):
            let rest = try Self.rest(of: parts, without: false, isComplete)
            return rest.count == 1 ? rest[0] : .all(rest)
        case .not(let inner): return .not(try inner.withoutNeedlessTests(isComplete))
        case .compare, .isIn, .hasPrefix, .contains: return self
        }
    }

    /// - Parameter isMissing: Whether the tests to leave out are met by a missing value. In a list of alternatives,
    ///   these are never true; in a list of requirements, the others are always true.
    private static func rest(
        of parts: [RecordFilter], without isMissing: Bool, _ isComplete: (FieldName) throws -> Bool
    ) rethrows -> [RecordFilter] {
        try parts.compactMap { part in
            guard let test = part.testOfMissingValue, test.isMissing == isMissing, try isComplete(test.field) else {
                return try part.withoutNeedlessTests(isComplete)
            }
            return nil
        }
    }

    /// The field that the filter tests for a missing value, and whether a missing value meets the test.
    private var testOfMissingValue: (field: FieldName, isMissing: Bool)? {
        switch self {
        case .compare(.field(let field), .equal, .null): (field, true)
        case .compare(.field(let field), .notEqual, .null): (field, false)
        case .not(let inner): inner.testOfMissingValue.map { ($0.field, !$0.isMissing) }
        default: nil
        }
    }

    /// Returns whether records should be searched by a range of values of one field, and then sorted by another.
    ///
    /// SQLite knows nothing about the values of a table. Between an index that gives the order and one that is searched
    /// by a range without an end, it chooses the order, and reads all records. That is right only if a limit ends the
    /// list soon.
    ///
    /// - Parameters:
    ///   - order: The first key of the order.
    ///   - isIndexed: Returns whether a field has an index.
    func isRange(apartFrom order: RecordTerm, isIndexed: (FieldName) -> Bool) -> Bool {
        var (hasRange, hasBetterPlan) = (false, false)
        var rest = [self]
        while let filter = rest.popLast() {
            switch filter {
            case .all(let parts): rest += parts
            case .compare(.field(let field), let comparison, _) where isIndexed(field):
                if comparison.isOrdered {
                    if .field(field) == order { hasBetterPlan = true } else { hasRange = true }
                } else if comparison == .equal {
                    hasBetterPlan = true
                }
            case .compare(.id, .equal, _), .compare(.uid, .equal, _): hasBetterPlan = true
            case .hasPrefix(let field, let prefix) where isIndexed(field) && !prefix.isEmpty:
                if .field(field) == order { hasBetterPlan = true } else { hasRange = true }
            case .isIn(let field, _) where isIndexed(field): hasBetterPlan = true
            case .any, .not, .compare, .isIn, .hasPrefix, .contains: break
            }
        }
        return hasRange && !hasBetterPlan
    }

    /// Returns whether the filter selects few records by itself, as far as one can tell: by an equality, a list, a
    /// prefix, or a range with two ends, in an indexed field other than the first key of the order.
    func isSelective(apartFrom order: RecordTerm, isIndexed: (FieldName) -> Bool) -> Bool {
        var lower: Set<FieldName> = []
        var upper: Set<FieldName> = []
        var rest = [self]
        while let filter = rest.popLast() {
            switch filter {
            case .all(let parts): rest += parts
            case .compare(.id, .equal, _), .compare(.uid, .equal, _): return true
            case .compare(.field(let field), let comparison, _) where isIndexed(field) && .field(field) != order:
                switch comparison {
                case .equal: return true
                case .less, .lessOrEqual: upper.insert(field)
                case .greater, .greaterOrEqual: lower.insert(field)
                case .notEqual: break
                }
            case .isIn(let field, _) where isIndexed(field) && .field(field) != order: return true
            case .hasPrefix(let field, let prefix)
            where isIndexed(field) && .field(field) != order && !prefix.isEmpty: return true
            case .any, .not, .compare, .isIn, .hasPrefix, .contains: break
            }
        }
        return !lower.isDisjoint(with: upper)
    }
}
