/// One side of a concurrent edit.
public struct Contender: Hashable, Sendable {
    public let value: FieldValue
    public let stamp: Stamp
    /// The account under which the edit was pushed; nil when the server does not report it.
    public let account: AccountID?

    public init(value: FieldValue, stamp: Stamp, account: AccountID? = nil) {
        self.value = value
        self.stamp = stamp
        self.account = account
    }
}

/// A value that lost to a concurrent edit or deletion whose author had not seen it. `loser` keeps the losing value.
public struct FieldConflict: Hashable, Sendable {
    public let collection: CollectionName
    public let record: RecordID
    public let field: FieldName
    /// The value that the pushing device had seen.
    public let base: FieldValue
    /// The current value of the field. When the record was deleted, null with the stamp of the deletion.
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

    public init(_ rule: MergeRule) {
        rawValue = rule.rawValue
    }

    public var description: String { rawValue }

    public static let latestEdit = ConflictRule(.latestEdit)
    public static let serverWins = ConflictRule(.serverWins)
    public static let clientWins = ConflictRule(.clientWins)
    /// The record was deleted by a device that had not seen the value.
    public static let deleteWins = ConflictRule(rawValue: "deleteWins")
}

/// A notice that a value written by a device lost to another device's edit or deletion.
///
/// The server keeps the notice for the client that wrote the value, and delivers it with a pull. The values that a push
/// itself loses are reported in the outcome of the push instead.
public struct ConflictNotice: Hashable, Sendable {
    /// A number that grows within a space. A device requests the notices after the last number that it has.
    public let number: Int64
    /// The version of the commit with the winning edit or deletion.
    public let version: Version
    public let conflict: FieldConflict

    public init(number: Int64, version: Version, conflict: FieldConflict) {
        self.number = number
        self.version = version
        self.conflict = conflict
    }
}

/// The conflict notices that a device requests with a page.
public struct NoticeRequest: Hashable, Sendable {
    /// The client id of the device, and its former client ids, at most `SchemaLimits.formerClients` of them.
    public let clients: [ClientID]
    /// Only notices with greater numbers are returned.
    public let after: Int64

    public init(clients: [ClientID], after: Int64) {
        self.clients = clients
        self.after = after
    }
}
