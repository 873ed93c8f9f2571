import SyncModel
public import TomboloModeling

extension ModelReference {
    /// True if the reference leads to this object.
    public static func == (field: ModelReference, object: Live<Other>) -> ModelCondition<M> {
        // An object without an id is not stored, so nothing refers to it.
        object.id.map { field == $0 } ?? field.in([RecordID]())
    }

    /// True if the reference leads to another object, or to none.
    public static func != (field: ModelReference, object: Live<Other>) -> ModelCondition<M> { !(field == object) }

    /// True if the reference leads to one of the objects.
    public func `in`(_ objects: [Live<Other>]) -> ModelCondition<M> {
        self.in(objects.compactMap(\.id))
    }
}
