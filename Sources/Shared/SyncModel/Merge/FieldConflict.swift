/// One side of a concurrent edit.
public struct Contender: Hashable, Sendable {
    public let value: FieldValue
    public let stamp: Stamp
    /// The account under which the edit was pushed; nil when the server does not say.
    public let account: AccountID?

    public init(value: FieldValue, stamp: Stamp, account: AccountID? = nil) {
        self.value = value
        self.stamp = stamp
        self.account = account
    }
}

/// A value that gave way to an edit, or a deletion, that had not seen it. The losing value is kept in it.
public struct FieldConflict: Hashable, Sendable {
    public let collection: CollectionName
    public let record: RecordID
    public let field: FieldName
    /// The value that the losing or winning pusher had seen.
    public let base: FieldValue
    /// The present value of the field; null, with the stamp of the deletion, when the record was deleted.
    public let winner: Contender
    public let loser: Contender
    public let rule: ConflictRule

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

    /// The bytes of its values.
    public var byteCount: Int { base.byteCount + winner.value.byteCount + loser.value.byteCount }
}

/// The rule that decided a conflict. Open: a newer server may have rules that this build does not name.
public struct ConflictRule: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public init(_ rule: MergeRule) {
        rawValue = rule.rawValue
    }

    public var description: String { rawValue }

    public static let latestEdit = ConflictRule(.latestEdit)
    public static let serverWins = ConflictRule(.serverWins)
    public static let clientWins = ConflictRule(.clientWins)
    /// The record was deleted by someone who had not seen the value.
    public static let deleteWins = ConflictRule(rawValue: "deleteWins")
}

/// Tells a device that a value of its own gave way to somebody else's edit or deletion.
///
/// The server keeps it for the client that wrote the value; a pull brings it. What a push itself loses is in the outcome
/// of the push instead.
public struct ConflictNotice: Hashable, Sendable {
    /// Grows within a space; a device asks for the notices after the last one that it has.
    public let number: Int64
    /// The commit that the value gave way to.
    public let version: Version
    public let conflict: FieldConflict

    public init(number: Int64, version: Version, conflict: FieldConflict) {
        self.number = number
        self.version = version
        self.conflict = conflict
    }
}

/// Which notices a device wants with a page.
public struct NoticeRequest: Hashable, Sendable {
    /// The client id of the device, and those that it had before; at most `SchemaLimits.formerClients` of these.
    public let clients: [ClientID]
    /// Those with greater numbers only.
    public let after: Int64

    public init(clients: [ClientID], after: Int64) {
        self.clients = clients
        self.after = after
    }
}
