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

/// A notice that a value written by a device lost to another device's edit or deletion.
///
/// The server keeps the notice for the client that wrote the value, and delivers it with a pull. The values that a push
/// itself loses are reported in the outcome of the push instead.
public struct ConflictNotice: Hashable, Sendable {
    /// A number that grows within a space. A device requests the notices after the last number that it has.
    public let number: Int64
    /// The version of the commit with the winning edit or deletion.
    public let version: Version
    /// The conflict, whose loser is the value that the device wrote.
    public let conflict: FieldConflict
    /// Tells the notice from another one that a restored server has given the same number; nil if the server sends none.
    public let fingerprint: NoticeFingerprint?

    /// Creates a notice. The server assigns the number and the fingerprint.
    public init(number: Int64, version: Version, conflict: FieldConflict, fingerprint: NoticeFingerprint? = nil) {
        self.number = number
        self.version = version
        self.conflict = conflict
        self.fingerprint = fingerprint
    }
}

/// The fingerprint of the conflict that a notice reports.
///
/// A push whose edits all lose makes no commit. A server that was restored to a state before it has lost its conflicts but no
/// version, and gives their numbers to others.
public struct NoticeFingerprint: Hashable, Sendable {
    /// A hash that the server has made of the conflict. A client stores it, and sends it back.
    public let bits: Identifier128

    /// Wraps a fingerprint that was received or stored.
    public init(bits: Identifier128) {
        self.bits = bits
    }
}

/// The conflict notices that a device requests with a page.
public struct NoticeRequest: Hashable, Sendable {
    /// The client id of the device, and its former client ids, at most `SchemaLimits.formerClients` of them.
    public let clients: [ClientID]
    /// Only notices with greater numbers are returned.
    public let after: Int64
    /// The fingerprint of the notice with the number `after`. If the server has another notice or none under this number, it begins
    /// at the first one. If nil, the server relies on the number.
    public let fingerprint: NoticeFingerprint?

    /// Creates a request for the notices of these clients. With `after` 0, it begins at the first one.
    public init(clients: [ClientID], after: Int64, fingerprint: NoticeFingerprint? = nil) {
        self.clients = clients
        self.after = after
        self.fingerprint = fingerprint
    }
}
