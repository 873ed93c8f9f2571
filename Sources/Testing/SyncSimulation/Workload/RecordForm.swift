import SyncCore
import SyncModel

/// A record as a user has read it before editing it. The device may show newer values by the time that the user saves.
struct RecordForm: Hashable, Sendable {
    let address: RecordAddress
    let space: SpaceID
    let record: Record
    /// The life of the application's process in which the user read the record. A form does not survive it.
    let life: Int

    /// Returns the fields that the form shows and that an edit changes: all of them for a delete.
    func seen(by edit: RecordEdit, in schema: ModelSchema) -> [FieldName: SeenField] {
        let names: [FieldName]
        switch edit {
        case .create: return [:]
        case .update(_, _, let patch): names = patch.map(\.field)
        case .delete: names = schema.fields.map(\.name)
        }
        return Dictionary(
            uniqueKeysWithValues: names.compactMap { name in
                schema.position(of: name).map { (name, record.seenField(at: $0)) }
            })
    }
}
