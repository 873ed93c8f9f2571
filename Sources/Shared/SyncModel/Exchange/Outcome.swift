/// The result of a transaction: kept on both sides until the client has seen it.
public enum Outcome: Hashable, Sendable {
    /// It took effect. Fields on which it met another edit are in `conflicts`: the transaction was *merged*.
    case applied(version: Version, uids: [AssignedUID], conflicts: [FieldConflict])
    /// It had no effect, and will not have one.
    case rejected(Rejection)

    /// The word for this outcome, as tables and logs show it.
    public var word: String {
        switch self {
        case .applied(_, _, let conflicts): conflicts.isEmpty ? "applied" : "merged"
        case .rejected: "rejected"
        }
    }
}

/// The uid that the server gave to a record when it first accepted it.
public struct AssignedUID: Hashable, Sendable {
    public let collection: CollectionName
    public let record: RecordID
    public let uid: UID

    public init(collection: CollectionName, record: RecordID, uid: UID) {
        self.collection = collection
        self.record = record
        self.uid = uid
    }
}

/// Why a transaction was refused: a result, not an error.
public struct Rejection: Hashable, Sendable {
    public let code: RejectionCode
    /// Says what was wrong and what was expected, for a person.
    public let message: String
    /// The position of the mutation at fault, when there is one.
    public let mutation: Int?

    public init(code: RejectionCode, message: String, mutation: Int?) {
        self.code = code
        self.message = message
        self.mutation = mutation
    }
}

/// The reason of a rejection. Open: a newer server may send a code that this build does not name.
public struct RejectionCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// The transaction breaks a rule of form: it is empty, or names one record twice where it may not.
    public static let malformed = RejectionCode(rawValue: "malformed")
    public static let unknownCollection = RejectionCode(rawValue: "unknown_collection")
    public static let unknownField = RejectionCode(rawValue: "unknown_field")
    public static let invalidValue = RejectionCode(rawValue: "invalid_value")
    public static let tooLarge = RejectionCode(rawValue: "too_large")
    /// A create of a record that exists already, in another space. In the same space the two are merged.
    public static let duplicateRecord = RejectionCode(rawValue: "duplicate_record")
    /// An update or delete of a record that never existed.
    public static let missingRecord = RejectionCode(rawValue: "missing_record")
    /// An update of a record that has been deleted: delete wins, and the edit goes to the journal.
    public static let recordDeleted = RejectionCode(rawValue: "record_deleted")
    /// A reference to a record that does not exist.
    public static let danglingReference = RejectionCode(rawValue: "dangling_reference")
    /// A delete of a record that a required reference points at.
    public static let stillReferenced = RejectionCode(rawValue: "still_referenced")
    /// A delete of a record that others have edited since, in a collection where such edits win.
    public static let unseenEdits = RejectionCode(rawValue: "unseen_edits")
    public static let forbidden = RejectionCode(rawValue: "forbidden")
    /// Given by the client itself: the transaction depends on one that was rejected.
    public static let dependsOnRejected = RejectionCode(rawValue: "depends_on_rejected")
}
