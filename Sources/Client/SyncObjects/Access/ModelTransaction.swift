public import SyncModel
public import TomboloModeling

/// Collects the changes of one transaction. See ``ModelAccess/write(_:)``.
public final class ModelTransaction {
    private let objects: LiveObjects
    private var written: [LiveCell] = []
    private var deleted: [LiveCell] = []
    private var problem: ModelError?
    /// Keeps the objects alive until they are written.
    private var held: [AnyObject] = []
    /// The edits that the bodies of `edit` have staged.
    let log = EditLog()

    init(_ objects: LiveObjects) {
        self.objects = objects
    }

    /// Creates an object in this transaction.
    ///
    /// - Parameter space: The space of the record. Nil means the space of the other records of the transaction, or
    ///   `default` if there are none.
    /// - Returns: The object; nil if the model is not in the list of models. The write then throws.
    @discardableResult public func create<M: Model>(
        _ type: M.Type, in space: SpaceID? = nil, _ fill: (Live<M>) -> Void
    ) -> Live<M>? {
        do throws(ModelError) {
            let object = try objects.draft(type, in: space, fill)
            add(object)
            return object
        } catch {
            note(error)
            return nil
        }
    }

    /// Writes the edits of an object in this transaction: those that `body` makes, and those that were staged before.
    public func edit<M: Model>(_ object: Live<M>, _ body: (Live<M>) -> Void = { _ in }) {
        // Nothing is staged on an object that the transaction cannot write.
        guard belongsToClient(object) else { return }
        log.record { body(object) }
        add(object)
    }

    /// Deletes an object in this transaction.
    public func delete<M: Model>(_ object: Live<M>) {
        if belongsToClient(object) { deleted.append(object.cell) }
        held.append(object)
    }

    private func add<M: Model>(_ object: Live<M>) {
        if belongsToClient(object) { written.append(object.cell) }
        held.append(object)
    }

    private func belongsToClient<M: Model>(_ object: Live<M>) -> Bool {
        if object.cell.objects === objects { return true }
        note(ModelError(.invalidValue, "\(object) belongs to another client: it cannot be written by this one"))
        return false
    }

    private func note(_ failure: ModelError) {
        if problem == nil { problem = failure }
    }

    /// Returns the cells to write and the cells to delete.
    ///
    /// - Throws: The first error of a call to `create`, `edit`, or `delete`.
    func steps() throws(ModelError) -> (written: [LiveCell], deleted: [LiveCell]) {
        if let problem { throw problem }
        return (written, deleted)
    }
}
