/// One side of a concurrent edit.
public struct Contender: Hashable, Sendable {
    public let value: FieldValue
    public let stamp: Stamp

    public init(value: FieldValue, stamp: Stamp) {
        self.value = value
        self.stamp = stamp
    }
}

/// A field that two parties changed, neither having seen the other's edit. The losing value is kept in it.
public struct FieldConflict: Hashable, Sendable {
    public let collection: CollectionName
    public let record: RecordID
    public let field: FieldName
    /// The value that the losing or winning pusher had seen.
    public let base: FieldValue
    public let winner: Contender
    public let loser: Contender
    public let rule: MergeRule

    public init(
        collection: CollectionName, record: RecordID, field: FieldName, base: FieldValue, winner: Contender,
        loser: Contender, rule: MergeRule
    ) {
        self.collection = collection
        self.record = record
        self.field = field
        self.base = base
        self.winner = winner
        self.loser = loser
        self.rule = rule
    }

    /// The bytes of its values.
    public var byteCount: Int { base.byteCount + winner.value.byteCount + loser.value.byteCount }
}

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

/// What becomes of one pushed field.
public enum FieldMerge: Hashable, Sendable {
    /// The field takes the pushed value. With a conflict when another value had to give way.
    case take(Contender, FieldConflict?)
    /// The field stays as it is. With a conflict when the pushed value had to give way.
    case keep(FieldConflict?)

    /// Decides one pushed field against what the server has.
    ///
    /// - Parameters:
    ///   - stored: the value and stamp that the server has for the field, with the version that set them.
    ///   - stamp: the pushed edit's stamp, clamped already.
    ///   - claimed: when it was made by the clock of its device, not clamped.
    public static func decide(
        edit: FieldEdit, stamp: Stamp, claimed: HybridTime, stored: Contender, storedVersion: Version, rule: MergeRule,
        collection: CollectionName, record: RecordID
    ) -> FieldMerge {
        let pushed = Contender(value: edit.value, stamp: stamp)
        if stored.stamp.client == stamp.client {
            // A client has seen its own earlier edits, also those that the server confirmed after this one was made.
            // A stored time after its own means that this edit is a replay of an older one, under a new incarnation. What was
            // clamped says nothing of that: it is the time of a server, whose clock may have gone back since.
            return stored.stamp.time > claimed ? .keep(nil) : .take(pushed, nil)
        }
        if storedVersion <= edit.seen { return .take(pushed, nil) }
        if stored.value == pushed.value { return stored.stamp < pushed.stamp ? .take(pushed, nil) : .keep(nil) }
        let side = rule.winner(stored: stored, pushed: pushed)
        let conflict = FieldConflict(
            collection: collection, record: record, field: edit.field, base: edit.before,
            winner: side == .pushed ? pushed : stored, loser: side == .pushed ? stored : pushed, rule: rule)
        return side == .pushed ? .take(pushed, conflict) : .keep(conflict)
    }
}
