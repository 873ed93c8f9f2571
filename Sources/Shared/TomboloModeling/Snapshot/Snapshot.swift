public import SyncModel

/// The values of one record at one moment, as an independent value for lists, exports, and other actors.
@dynamicMemberLookup
public struct Snapshot<M: Model>: Identifiable, Sendable {
    public let id: RecordID
    /// The number that the server assigned; −1 until then.
    public let uid: Int
    package let shape: ModelShape<M>
    /// One value per field of the schema, in its order.
    package let values: [FieldValue]

    package init(id: RecordID, uid: Int, values: [FieldValue], shape: ModelShape<M>) {
        self.id = id
        self.uid = uid
        self.values = values
        self.shape = shape
    }

    /// The value of a field: `snapshot.title`.
    public subscript<Value>(dynamicMember path: KeyPath<M, ModelField<M, Value>>) -> Value {
        self[shape.fields[keyPath: path]]
    }

    /// The id to which a reference leads; nil if it leads to none.
    public subscript<Other>(dynamicMember path: KeyPath<M, ModelReference<M, Other>>) -> RecordID? {
        let slot = shape.fields[keyPath: path].key.slot
        guard values.indices.contains(slot), case .reference(let id) = values[slot] else { return nil }
        return id
    }

    /// The value of a field.
    public subscript<Value>(field: ModelField<M, Value>) -> Value {
        values.indices.contains(field.key.slot) ? field.value(values[field.key.slot]) : field.fallback
    }
}

extension Snapshot: Hashable {
    public static func == (left: Snapshot, right: Snapshot) -> Bool {
        left.id == right.id && left.uid == right.uid && left.values == right.values
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(values)
    }
}

extension Snapshot: CustomStringConvertible {
    public var description: String {
        let fields = zip(shape.schema.fields, values).filter { !$0.1.isNull }.map { "\($0.0.name): \($0.1)" }
        return "\(M.collection) \(id) {\(fields.joined(separator: ", "))}"
    }
}
