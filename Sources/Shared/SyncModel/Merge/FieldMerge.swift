extension MergeRule {
    /// Which side of a concurrent edit stays: pure and total, the same on every machine.
    public func winner(stored: Contender, pushed: Contender) -> Side {
        switch self {
        case .latestEdit: pushed.stamp > stored.stamp ? .pushed : .stored
        case .serverWins: .stored
        case .clientWins: .pushed
        }
    }

    public enum Side: Hashable, Sendable {
        case stored, pushed
    }
}

/// The fate of one pushed field.
public enum FieldMerge: Hashable, Sendable {
    /// The field takes the pushed value. With a conflict when another value had to give way.
    case take(Contender, FieldConflict?)
    /// The field stays as it is. With a conflict when the pushed value had to give way.
    case keep(FieldConflict?)

    /// Decides one pushed field against what the server has.
    ///
    /// - Parameters:
    ///   - pushed: the pushed value with the stamp that the server gives it.
    ///   - stored: the value and stamp that the server has for the field.
    ///   - hasSeen: whether the pusher has provably seen the stored value: the version that set it, or its own earlier
    ///     edit (same client and incarnation, whose numbers the server takes in order).
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
