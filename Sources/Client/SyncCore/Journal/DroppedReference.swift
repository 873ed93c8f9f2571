public import SyncModel

/// An optional reference that a restore left out, because its target was not on this device.
///
/// It is set when another journal entry creates the target, unless its field has changed by then.
public struct DroppedReference: Hashable, Sendable {
    /// The restored record, without the reference.
    public let record: RecordAddress
    /// The field that was left out.
    public let field: FieldName
    /// The record to which it refers, which was not on this device.
    public let target: RecordAddress

    /// Creates a reference from its parts.
    public init(record: RecordAddress, field: FieldName, target: RecordAddress) {
        self.record = record
        self.field = field
        self.target = target
    }
}
