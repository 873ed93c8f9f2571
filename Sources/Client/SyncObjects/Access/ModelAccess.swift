public import SyncModel
public import TomboloModeling

/// Something with the live objects of an application: a client, or a device of the test kit.
public protocol ModelAccess: Sendable {
    /// The live objects, one per record.
    var objects: LiveObjects { get }
}

extension LiveObjects: ModelAccess {
    public var objects: LiveObjects { self }
}

extension ModelAccess {
    /// Makes an object that exists only in memory, until it or an object that refers to it is created.
    ///
    /// - Parameters:
    ///   - space: The space in which the record is to be created. Nil means the space of the other records of its
    ///     transaction, or `default` if there are none.
    ///   - fill: Sets the first values.
    /// - Throws: `invalidModel` if the model is not in the list of models.
    public func draft<M: Model>(
        _ type: M.Type, in space: SpaceID? = nil, _ fill: (Live<M>) -> Void = { _ in }
    ) throws(ModelError) -> Live<M> {
        objects.make(try objects.kind(of: type), in: space, fill: fill)
    }

    /// Creates a record. When this method returns, the record is stored: on this device, or on the server if the client
    /// has no store.
    ///
    /// To wait for the confirmation, call `create()` on the object: it returns the receipt again.
    ///
    /// - Parameters:
    ///   - space: The space of the record; nil for `default`. A record stays in its space.
    ///   - fill: Sets the first values.
    /// - Throws: `invalidModel` if the model is not in the list of models, `invalidValue` when a value breaks a rule,
    ///   or the failure of the source.
    @discardableResult public func create<M: Model>(
        _ type: M.Type, in space: SpaceID? = nil, _ fill: (Live<M>) -> Void
    ) async throws(ModelError) -> Live<M> {
        let object = try draft(type, in: space, fill)
        try await object.create()
        return object
    }

    /// Returns the object with this id. If the record is not here, the object is a placeholder, which gets its values
    /// when the record arrives.
    ///
    /// - Throws: `invalidModel` if the model is not in the list of models.
    public func object<M: Model>(_ type: M.Type, id: RecordID) throws(ModelError) -> Live<M> {
        try objects.object(try objects.kind(of: type), id: id)
    }

    /// Returns the object with this uid. If the record is not here, the object is a placeholder, which gets its values
    /// when the record arrives.
    ///
    /// - Throws: `invalidValue` when the uid is negative, `invalidModel` if the model is not in the list of models.
    public func object<M: Model>(_ type: M.Type, uid: Int) throws(ModelError) -> Live<M> {
        try objects.object(try objects.kind(of: type), uid: uid)
    }

    /// Returns the query for all objects of a model.
    public func query<M: Model>(_ type: M.Type) -> ModelQuery<M> {
        ModelQuery(type, objects: objects)
    }

    /// Returns the provider of a model's objects, for code that should not have the whole client.
    ///
    /// - Throws: `invalidModel` if the model is not in the list of models.
    public func provider<M: Model>(of type: M.Type) throws(ModelError) -> ModelProvider<M> {
        ModelProvider(objects: objects, kind: try objects.kind(of: type))
    }

    /// Writes several changes in one transaction: all of them take effect, here and on the server, or none.
    ///
    /// ```swift
    /// let receipt = try await client.write { tx in
    ///     tx.create(Todo.self) { $0.title = "Milk" }
    ///     tx.edit(bread) { $0.isDone = true }
    ///     tx.delete(old)
    /// }
    /// ```
    ///
    /// No other write of this client comes between the changes: `body` is called when the writes before it are done.
    ///
    /// - Returns: The receipt, which is empty when nothing was changed.
    /// - Throws: A `ModelError`, or the error that `body` throws. The objects that `body` edits through the transaction
    ///   then have the unsaved edits again that they had before, and new objects remain drafts.
    @discardableResult public func write(_ body: (ModelTransaction) throws -> Void) async throws -> Receipt {
        try await objects.write(body)
    }
}
