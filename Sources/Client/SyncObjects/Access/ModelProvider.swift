public import SyncModel
public import TomboloModeling

/// Makes and finds the objects of one model, for code that should not have the whole client.
public struct ModelProvider<M: Model>: Sendable {
    let objects: LiveObjects
    let kind: LiveKind<M>

    /// Makes an object that exists only in memory, until it or an object that refers to it is created.
    public func draft(_ fill: (Live<M>) -> Void = { _ in }) -> Live<M> {
        objects.make(kind, fill: fill)
    }

    /// Returns the object with this id, or a placeholder if the record is not here.
    public func object(id: RecordID) throws(ModelError) -> Live<M> {
        try objects.object(kind, id: id)
    }

    /// Returns the object with this uid, or a placeholder if the record is not here.
    public func object(uid: Int) throws(ModelError) -> Live<M> {
        try objects.object(kind, uid: uid)
    }

    /// A query for all objects of the model.
    public var query: ModelQuery<M> {
        ModelQuery(M.self, objects: objects)
    }
}
