/// The reason why a transaction was rejected. A rejection is a result, not an error.
public struct Rejection: Hashable, Sendable {
    /// The reason, for programs. It may be one that this build does not know.
    public let code: RejectionCode
    /// The message for a person: what was wrong and what was expected.
    public let message: String
    /// The position of the mutation at fault; nil when the rejection concerns the whole transaction.
    public let mutation: Int?
    /// The fields at fault, in the record of ``mutation``; empty when the rejection is not about single fields.
    public let fields: [FieldName]

    /// Creates a rejection.
    ///
    /// - Parameters:
    ///   - message: what was wrong and what was expected, for a person.
    ///   - mutation: the position of the mutation at fault; nil for the whole transaction.
    ///   - fields: the fields at fault in that mutation, if the rejection is about fields.
    public init(code: RejectionCode, message: String, mutation: Int?, fields: [FieldName] = []) {
        self.code = code
        self.message = message
        self.mutation = mutation
        self.fields = fields
    }
}

/// The code of a rejection.
///
/// The set of codes is open: a newer server may send a code that this build does not know.
public struct RejectionCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }

    /// The transaction is not well formed: it is empty, or it creates a record twice, or after deleting it.
    public static let malformed = RejectionCode(rawValue: "malformed")
    /// A mutation names a collection that the server does not have.
    public static let unknownCollection = RejectionCode(rawValue: "unknown_collection")
    /// A mutation names a field that the collection does not have on the server.
    public static let unknownField = RejectionCode(rawValue: "unknown_field")
    /// A value does not fit its field: its type, length, range, or rule.
    public static let invalidValue = RejectionCode(rawValue: "invalid_value")
    /// The transaction, or the conflicts that it causes, exceed a limit of the model or of the server.
    public static let tooLarge = RejectionCode(rawValue: "too_large")
    /// A create of a record that exists in another space. A create of a record that exists in the same space is merged.
    public static let duplicateRecord = RejectionCode(rawValue: "duplicate_record")
    /// An update or delete of a record that has never existed in the space of the transaction.
    public static let missingRecord = RejectionCode(rawValue: "missing_record")
    /// An update or create of a record that has been deleted. The delete wins, and the transaction goes to the journal.
    public static let recordDeleted = RejectionCode(rawValue: "record_deleted")
    /// A reference to a record that does not exist in the space of the transaction.
    public static let danglingReference = RejectionCode(rawValue: "dangling_reference")
    /// A delete of a record that a required reference of another record points to.
    public static let stillReferenced = RejectionCode(rawValue: "still_referenced")
    /// A delete of a record with edits that its device had not seen, in a collection where such edits win over deletes.
    public static let unseenEdits = RejectionCode(rawValue: "unseen_edits")
    /// The account may not write in the space.
    public static let forbidden = RejectionCode(rawValue: "forbidden")
    /// The account stores as much as it may.
    public static let quotaExceeded = RejectionCode(rawValue: "quota_exceeded")
    /// A rejection that the client itself produces: the transaction depends on a rejected one.
    public static let dependsOnRejected = RejectionCode(rawValue: "depends_on_rejected")
    /// The code under which a client reports a transaction that a restored server, or a damaged database, has lost. No
    /// server rejects with it.
    public static let lost = RejectionCode(rawValue: "lost")
}
