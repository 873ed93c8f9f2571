import SyncModel
public import TomboloModeling

/// The objects of a rejected transaction, with the attempted values staged. See ``RejectedWrite/edit(_:)``.
public final class RejectedEdit {
    /// The transaction to write, which already contains the rejected changes. Add others to it, or correct the objects
    /// that ``objects(_:)`` returns.
    public let transaction: ModelTransaction
    private let live: LiveObjects
    private var staged: [AnyObject] = []
    /// Maps the id of each record whose creation was rejected to the id of its new draft, because an id is never used
    /// twice.
    private var drafts: [RecordID: RecordID] = [:]

    init(_ objects: LiveObjects) {
        live = objects
        transaction = ModelTransaction(objects)
    }

    /// Returns the objects of a model whose creation or update was rejected. Rejected deletions are not among them.
    public func objects<M: Model>(_ type: M.Type) -> [Live<M>] {
        staged.compactMap { $0 as? Live<M> }
    }

    /// Stages the changes of a rejected transaction, including its deletions, in `transaction`.
    func stage(_ rejected: Transaction) throws(ModelError) {
        for mutation in rejected.mutations {
            guard let type = live.models.model(of: mutation.collection) else {
                throw ModelError(.invalidModel, "no model has the collection \(mutation.collection)")
            }
            try stage(mutation, as: type, in: rejected.space)
        }
    }

    private func stage<M: Model>(
        _ mutation: Mutation, as type: M.Type, in space: SpaceID
    ) throws(ModelError) {
        let object: Live<M>
        switch mutation.intent {
        case .create:
            object = try live.draft(type, in: space)
            drafts[mutation.record] = object.id
        case .update: object = try live.object(type, id: mutation.record)
        case .delete:
            transaction.delete(try live.object(type, id: mutation.record))
            return
        }
        for (name, value) in AttemptedChange(mutation).values {
            guard let slot = object.cell.schema.position(of: name) else { continue }
            var value = value
            if case .reference(let id) = value, let draft = drafts[id] { value = .reference(draft) }
            object.cell.set(FieldKey(slot: slot, name: name), to: value)
        }
        staged.append(object)
        transaction.edit(object)
    }
}
