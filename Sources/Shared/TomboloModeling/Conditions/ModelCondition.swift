package import SyncModel

/// A condition on the records of one model, as data.
///
/// The fields of a model make conditions: `$0.due < tomorrow`, `$0.title.hasPrefix("B")`,
/// `$0.priority.in([.low, .high])`. Join them with `&&`, `||`, and `!`. An optional field without a value equals nil,
/// and is neither less nor greater than any value. In any other field, a comparison with a value counts a missing value
/// as the default of the field, and a comparison with nil finds it.
///
/// A query has at most 400 conditions, in at most 50 levels of `&&`, `||`, and `!` inside one another. A chain of one
/// operator is one level.
public struct ModelCondition<M: Model>: Hashable, Sendable {
    package let filter: RecordFilter
    /// The error that the query throws; nil if there is none.
    package let problem: ModelDeclarationError?

    /// Creates a condition. A filter that exceeds a limit is replaced, so that no filter gets too deep for recursion.
    package init(_ filter: RecordFilter, problem: ModelDeclarationError? = nil) {
        let excess = filter.excess(in: M.collection)
        self.filter = excess == nil ? filter : .any([])
        self.problem =
            problem ?? excess.map { ModelDeclarationError(.invalidValue, collection: M.collection, $0) }
    }

    /// Matches records that both conditions match.
    public static func && (left: ModelCondition, right: ModelCondition) -> ModelCondition {
        ModelCondition(left.filter && right.filter, problem: left.problem ?? right.problem)
    }

    /// Matches records that one of the conditions matches, or both.
    public static func || (left: ModelCondition, right: ModelCondition) -> ModelCondition {
        ModelCondition(left.filter || right.filter, problem: left.problem ?? right.problem)
    }

    /// Matches records that the condition does not match.
    public static prefix func ! (condition: ModelCondition) -> ModelCondition {
        ModelCondition(!condition.filter, problem: condition.problem)
    }
}

extension ModelCondition: CustomStringConvertible {
    public var description: String { filter.description }
}
