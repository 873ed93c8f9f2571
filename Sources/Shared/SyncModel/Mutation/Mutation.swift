/// A create, update, or delete of one record, as the user intended it. Immutable once written.
public struct Mutation: Hashable, Sendable {
    /// The collection of the record.
    public let collection: CollectionName
    /// The id of the record. A create brings a new one.
    public let record: RecordID
    /// The time of the user's action, by the hybrid clock of the device that wrote the mutation.
    public let time: HybridTime
    /// The change that the user made.
    public let intent: Intent

    /// The three kinds of changes.
    public enum Intent: Hashable, Sendable {
        /// Create the record with these values. Fields that are not named are null.
        case create(Patch)
        /// Set these fields to new values.
        case update([FieldEdit])
        /// Delete the record. `seen` is the version of the record that the user had seen, except for the fields
        /// `unshown`: the device has their values, but its build does not know the fields. Their names are sorted.
        case delete(seen: Version, unshown: [FieldName] = [])
    }

    /// Creates a mutation without checking it. `SchemaCatalog.rejection(of:)` checks a whole transaction.
    public init(collection: CollectionName, record: RecordID, time: HybridTime, intent: Intent) {
        self.collection = collection
        self.record = record
        self.time = time
        self.intent = intent
    }
}

/// A new value for one field, with the state that the user saw when making the edit.
public struct FieldEdit: Hashable, Sendable {
    /// The name of the field. The server may not know it yet.
    public let field: FieldName
    /// The new value in canonical form; null clears the field.
    public let value: FieldValue
    /// The value that the user saw, as the device claims. If the edit conflicts with another, this value is the `base`
    /// of the conflict.
    public let before: FieldValue
    /// The version that had last changed the field, as the device claims; `.zero` when the record had not come from a
    /// server yet.
    public let seen: Version

    /// Creates an edit, with both values in canonical form.
    public init(field: FieldName, value: FieldValue, before: FieldValue, seen: Version) {
        self.field = field
        self.value = value.canonical
        self.before = before.canonical
        self.seen = seen
    }
}

extension Mutation {
    /// The values that this mutation sets.
    public var patch: Patch {
        switch intent {
        case .create(let patch): return patch
        case .update(let edits):
            var patch = Patch()
            for edit in edits { patch.set(edit.field, to: edit.value) }
            return patch
        case .delete: return Patch()
        }
    }

    /// Calls `body` with each value that this mutation sets, in the order in which it was written.
    package func forEachValue<Failure: Error>(
        _ body: (FieldName, FieldValue) throws(Failure) -> Void
    ) throws(Failure) {
        switch intent {
        case .create(let patch): for (field, value) in patch { try body(field, value) }
        case .update(let edits): for edit in edits { try body(edit.field, edit.value) }
        case .delete: break
        }
    }

    /// The records that this mutation's values refer to, in the order of the field names.
    public var references: [RecordID] {
        patch.compactMap { if case .reference(let id) = $0.value { id } else { nil } }
    }

    /// The size of this mutation as counted against limits, in bytes: its values and a constant for the rest.
    public var byteCount: Int {
        let values =
            switch intent {
            case .create(let patch): patch.reduce(0) { $0 + $1.field.rawValue.utf8.count + $1.value.byteCount }
            case .update(let edits):
                edits.reduce(0) { $0 + $1.field.rawValue.utf8.count + $1.value.byteCount + $1.before.byteCount }
            case .delete(_, let unshown): unshown.reduce(0) { $0 + $1.rawValue.utf8.count }
            }
        return values + 96
    }
}

extension Mutation {
    /// This mutation without the versions that its user had seen.
    package var havingSeenNothing: Mutation {
        let intent: Intent =
            switch intent {
            case .create: intent
            case .update(let edits):
                .update(
                    edits.map { FieldEdit(field: $0.field, value: $0.value, before: $0.before, seen: .zero) })
            case .delete: .delete(seen: .zero)
            }
        return Mutation(collection: collection, record: record, time: time, intent: intent)
    }
}
