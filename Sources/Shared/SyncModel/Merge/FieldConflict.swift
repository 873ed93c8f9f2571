/// One side of a concurrent edit.
public struct Contender: Hashable, Sendable {
    /// The value of the field; null if the edit cleared the field or deleted the record.
    public let value: FieldValue
    /// The time and the client of the edit, as the server recorded them.
    public let stamp: Stamp
    /// The account under which the edit was pushed; nil when the server does not report it.
    public let account: AccountID?

    /// Creates one side of an edit; leave `account` out when it is not known.
    public init(value: FieldValue, stamp: Stamp, account: AccountID? = nil) {
        self.value = value
        self.stamp = stamp
        self.account = account
    }
}

/// A value that lost to a concurrent edit or deletion whose author had not seen it. `loser` keeps the losing value.
public struct FieldConflict: Hashable, Sendable {
    /// The collection of the record.
    public let collection: CollectionName
    /// The id of the record, which may have been deleted since.
    public let record: RecordID
    /// The field in which the edits met.
    public let field: FieldName
    /// The value that the pushing device had seen; null if the device pushed a create or a delete of the record.
    public let base: FieldValue
    /// The current value of the field. When the record was deleted, null with the stamp of the deletion.
    public let winner: Contender
    /// The value that is not in the record. A user can restore it.
    public let loser: Contender
    /// The rule by which the winner was chosen.
    public let rule: ConflictRule

    /// Creates the record of a decided conflict. `FieldMerge.decide` chooses the winner.
    public init(
        collection: CollectionName, record: RecordID, field: FieldName, base: FieldValue, winner: Contender,
        loser: Contender, rule: ConflictRule
    ) {
        self.collection = collection
        self.record = record
        self.field = field
        self.base = base
        self.winner = winner
        self.loser = loser
        self.rule = rule
    }

    /// The total size of the three values, in bytes.
    public var byteCount: Int { base.byteCount + winner.value.byteCount + loser.value.byteCount }
}

/// The rule that decided a conflict.
///
/// The set of rules is open: a newer server may have rules that this build does not know.
public struct ConflictRule: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// Creates the rule with the name of a merge rule.
    public init(_ rule: MergeRule) {
        rawValue = rule.rawValue
    }

    public var description: String { rawValue }

    /// The edit with the greater stamp won.
    public static let latestEdit = ConflictRule(.latestEdit)
    /// The value on the server won.
    public static let serverWins = ConflictRule(.serverWins)
    /// The pushed value won.
    public static let clientWins = ConflictRule(.clientWins)
    /// The record was deleted by a device that had not seen the value.
    public static let deleteWins = ConflictRule(rawValue: "deleteWins")
}
