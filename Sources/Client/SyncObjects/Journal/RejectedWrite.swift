import SyncCore
public import SyncModel
public import TomboloModeling

/// A transaction that the server rejected, or that was lost, either by a restored server or with a damaged database; or
/// the rest of an entry that was restored in part.
///
/// The journal keeps the transaction with the attempted values until it is retried, edited, or discarded.
public struct RejectedWrite: Identifiable, Sendable {
    /// The number of the entry in the journal.
    public let id: Int64
    /// The kind of reason, for code that handles it; `lost` for a lost transaction.
    public let code: RejectionCode
    /// The server's reason, or the explanation of the loss.
    public let message: String
    /// The fields at fault, with their record; empty when the rejection is not about single fields.
    public let fields: [RejectedField]
    /// The attempted changes, in the order in which they were made.
    public let changes: [AttemptedChange]
    let objects: LiveObjects
    let transaction: Transaction

    /// Creates the rejection from a journal entry; nil if the entry is of another kind.
    init?(_ entry: JournalEntry, objects: LiveObjects) {
        switch entry.event {
        case .rejected(let transaction, let rejection):
            self.transaction = transaction
            code = rejection.code
            message = rejection.message
            fields = RejectedField.fields(of: rejection, in: transaction)
        case .lost(let transaction):
            self.transaction = transaction
            code = .lost
            message =
                "these changes were lost by a server that was restored from a backup, or with a damaged database, or are the rest of changes that were restored in part"
            fields = []
        case .merged, .overwritten, .noticesRemoved, .cancelled: return nil
        }
        id = entry.number
        changes = transaction.mutations.map { AttemptedChange($0) }
        self.objects = objects
    }

    /// Returns the values that the server has now for the record of an attempted change, as far as this device has
    /// received them. The row does not contain unconfirmed writes of this device.
    ///
    /// - Returns: The server's row; nil when the server does not have the record, or when the change concerns another
    ///   model.
    public func serverRow<M: Model>(_ type: M.Type, of change: AttemptedChange) throws(ModelError) -> Snapshot<M>? {
        guard change.collection == M.collection else { return nil }
        let (kind, name) = (try objects.kind(of: type), CollectionName(unchecked: change.collection))
        let record = try objects.decide { store in try store.shownRecord(name, change.record) }
        return record.map {
            Snapshot(id: $0.id, uid: Int($0.uid.rawValue), values: $0.values, shape: kind.shape)
        }
    }

    // MARK: Decisions

    /// Writes the transaction again, over the current values.
    ///
    /// - Throws: `alreadyDecided` if somebody has retried, edited, or discarded it, in this process or another one; or
    ///   a `ModelError` of the local store, for example when a record to which the transaction refers is gone.
    public func retry() throws(ModelError) {
        try objects.retry(journal: id)
    }

    /// Accepts the rejection: the attempted values are not written, and the rejection is not reported again. Does
    /// nothing if somebody has retried, edited, or discarded it.
    public func discard() throws(ModelError) {
        try objects.dismiss(journal: id)
    }

    /// Writes corrected values in place of the rejected ones.
    ///
    /// The attempted values are staged again: `body` finds the objects with ``RejectedEdit/objects(_:)``, and corrects
    /// them. All objects are written in one transaction, which discards the rejection, too. Unsaved edits that the
    /// attempted values have replaced are unsaved edits again afterwards.
    ///
    /// A record whose creation was rejected is created under a new id. Later, other rejected transactions that refer to
    /// it are retried and edited with a reference to the new record.
    ///
    /// - Throws: `alreadyDecided` if somebody has retried, edited, or discarded the rejection, in this process or
    ///   another one. Otherwise a `ModelError`, or the error that `body` throws; the rejection then stays, and so do
    ///   unsaved edits of its objects.
    @discardableResult public func edit(_ body: (RejectedEdit) throws -> Void) async throws -> Receipt {
        try await objects.correct(transaction, of: id, body)
    }
}

/// A field that the server found at fault.
public struct RejectedField: Hashable, Sendable {
    /// The collection of the record.
    public let collection: String
    /// The id of the record.
    public let record: RecordID
    /// The name of the field.
    public let field: String

    static func fields(of rejection: Rejection, in transaction: Transaction) -> [RejectedField] {
        guard let index = rejection.mutation, transaction.mutations.indices.contains(index) else { return [] }
        let mutation = transaction.mutations[index]
        return rejection.fields.map {
            RejectedField(collection: mutation.collection.rawValue, record: mutation.record, field: $0.rawValue)
        }
    }

    /// Whether this is the given field: `rejection.fields.contains { $0.isField(todo.fields.title) }`.
    public func isField<M: Model, Value>(_ field: ModelField<M, Value>) -> Bool {
        collection == M.collection && self.field == field.name
    }

    /// Whether this is the given reference.
    public func isField<M: Model, Other>(_ reference: ModelReference<M, Other>) -> Bool {
        collection == M.collection && field == reference.name
    }
}

/// One attempted change of a rejected transaction.
public struct AttemptedChange: Hashable, Sendable {
    /// The kind of a change.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The record was to be created, updated, or deleted.
        case create, update, delete
    }

    /// Whether the record was to be created, updated, or deleted.
    public let kind: Kind
    /// The collection of the record.
    public let collection: String
    /// The id of the record.
    public let record: RecordID
    /// The names of the fields that were set, sorted.
    public var fields: [String] { values.map(\.field.rawValue) }
    let values: Patch

    package init(_ mutation: Mutation) {
        collection = mutation.collection.rawValue
        record = mutation.record
        switch mutation.intent {
        case .create(let patch):
            kind = .create
            values = patch
        case .update(let edits):
            kind = .update
            var patch = Patch()
            for edit in edits { patch.set(edit.field, to: edit.value) }
            values = patch
        case .delete:
            kind = .delete
            values = Patch()
        }
    }

    /// The attempted value of a field; nil if the change did not set it, or if it concerns another model.
    public func value<M: Model, Value>(_ field: ModelField<M, Value>) -> Value? {
        guard collection == M.collection, let stored = values[field.key.name] else { return nil }
        return field.value(stored)
    }
}

extension AttemptedChange: CustomStringConvertible {
    /// The kind, the collection, and the attempted values: `update contact: phone '123', company none`. Long values are
    /// cut.
    public var description: String {
        let list = values.map { "\($0.field) \($0.value.shortText)" }.joined(separator: ", ")
        return "\(kind) \(collection)\(list.isEmpty ? "" : ": \(list)")"
    }
}

extension RejectedWrite: CustomStringConvertible {
    public var description: String {
        let list = changes.map { "\($0.kind) \($0.collection) \($0.record)" }
        return "rejected (\(code)): \(message): \(list.joined(separator: ", "))"
    }
}
