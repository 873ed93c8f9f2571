extension MergeRule {
    /// Returns which side of a concurrent edit wins.
    ///
    /// The function is pure and total, so that every machine decides alike.
    public func winner(stored: Contender, pushed: Contender) -> Side {
        switch self {
        case .latestEdit: pushed.stamp > stored.stamp ? .pushed : .stored
        case .serverWins: .stored
        case .clientWins: .pushed
        }
    }

    /// The two sides of a concurrent edit.
    public enum Side: Hashable, Sendable {
        /// The value that the server already has.
        case stored
        /// The value in the push.
        case pushed
    }
}

/// The decision about one pushed field.
public enum FieldMerge: Hashable, Sendable {
    /// The field takes the pushed value. The conflict is set when another value lost.
    case take(Contender, FieldConflict?)
    /// The field keeps its stored value. The conflict is set when the pushed value lost.
    case keep(FieldConflict?)

    /// Decides how one pushed field is merged with the stored value.
    ///
    /// - Parameters:
    ///   - pushed: the pushed value with the stamp that the server assigned to it.
    ///   - stored: the value and stamp that the server has for the field.
    ///   - hasSeen: whether the author of the push has provably seen the stored value: it has seen the version that set
    ///     the value, or it set the value itself (same client and incarnation, whose transactions the server accepts in
    ///     order).
    public static func decide(
        _ edit: FieldEdit, pushed: Contender, stored: Contender, hasSeen: Bool, rule: MergeRule,
        collection: CollectionName, record: RecordID
    ) -> FieldMerge {
        if hasSeen { return .take(pushed, nil) }
        if stored.value == pushed.value { return stored.stamp < pushed.stamp ? .take(pushed, nil) : .keep(nil) }
        let side = rule.winner(stored: stored, pushed: pushed)
        let conflict = FieldConflict(
            collection: collection, record: record, field: edit.field, base: edit.before,
            winner: side == .pushed ? pushed : stored, loser: side == .pushed ? stored : pushed,
            rule: ConflictRule(rule))
        return side == .pushed ? .take(pushed, conflict) : .keep(conflict)
    }
}
