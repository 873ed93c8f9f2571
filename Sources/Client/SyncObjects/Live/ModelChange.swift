import SyncModel
public import TomboloModeling

/// The fields of a record that changed, with their values before and after.
public struct ModelChange<M: Model>: Hashable, Sendable {
    private let values: [FieldName: Pair]

    private struct Pair: Hashable, Sendable {
        let before: FieldValue
        let after: FieldValue
    }

    init(_ changes: [(field: FieldName, before: FieldValue, after: FieldValue)]) {
        values = Dictionary(
            changes.map { ($0.field, Pair(before: $0.before, after: $0.after)) }, uniquingKeysWith: { $1 })
    }

    /// Whether no field has changed.
    public var isEmpty: Bool { values.isEmpty }

    /// The names of the changed fields, sorted.
    public var fields: [String] { values.keys.sorted().map(\.rawValue) }

    /// Whether this field has changed.
    public func contains<Value>(_ field: ModelField<M, Value>) -> Bool { values[field.key.name] != nil }

    /// Whether this reference has changed.
    public func contains<Other>(_ reference: ModelReference<M, Other>) -> Bool { values[reference.key.name] != nil }

    /// The value of a field before the change; nil if the field did not change.
    public func before<Value>(_ field: ModelField<M, Value>) -> Value? {
        values[field.key.name].map { field.value($0.before) }
    }

    /// The value of a field after the change; nil if the field did not change.
    public func after<Value>(_ field: ModelField<M, Value>) -> Value? {
        values[field.key.name].map { field.value($0.after) }
    }
}
