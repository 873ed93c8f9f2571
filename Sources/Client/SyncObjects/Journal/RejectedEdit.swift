import SyncCore
import SyncModel
public import TomboloModeling

/// The objects of a rejected transaction, with the attempted values staged. See ``RejectedWrite/edit(_:)``.
public final class RejectedEdit {
    /// The transaction to write, which already contains the rejected changes. Add others to it, or correct the objects
    /// that ``objects(_:)`` returns.
    public let transaction: ModelTransaction
    private let live: LiveObjects
    private var staged: [AnyObject] = []
    /// Maps each record whose creation was rejected to the id of its new draft, because an id is never used twice.
    private var drafts: [RecordAddress: RecordID] = [:]
    /// The drafts that are not staged yet.
    private var unstaged: [RecordAddress: AnyObject] = [:]

    init(_ objects: LiveObjects) {
        live = objects
        transaction = ModelTransaction(objects)
    }

    /// Returns the objects of a model whose creation or update was rejected. Rejected deletions are not among them.
    public func objects<M: Model>(_ type: M.Type) -> [Live<M>] {
        staged.compactMap { $0 as? Live<M> }
    }

    /// The decision to write the transaction in place of an entry of the journal.
    func correction(of entry: Int64) -> JournalCorrection {
        let creations = drafts.map { JournalCorrection.Creation(of: $0.key, as: $0.value) }
        return JournalCorrection(entry: entry, creations: creations.sorted { $0.id < $1.id })
    }

    /// Stages the changes of a rejected transaction, including its deletions, in `transaction`.
    func stage(_ rejected: Transaction) throws(ModelError) {
        // Make the drafts first, because a reference may come before the record that it names.
        for mutation in rejected.mutations {
            if case .create = mutation.intent { try draft(mutation, as: try model(of: mutation), in: rejected.space) }
        }
        for mutation in rejected.mutations { try stage(mutation, as: try model(of: mutation), in: rejected.space) }
    }

    private func model(of mutation: Mutation) throws(ModelError) -> any Model.Type {
        guard let type = live.models.model(of: mutation.collection) else {
            throw ModelError(.invalidModel, "no model has the collection \(mutation.collection)")
        }
        return type
    }

    private func draft<M: Model>(_ mutation: Mutation, as type: M.Type, in space: SpaceID) throws(ModelError) {
        let object = try live.draft(type, in: space)
        drafts[mutation.address] = object.id
        unstaged[mutation.address] = object
    }

    private func stage<M: Model>(
        _ mutation: Mutation, as type: M.Type, in space: SpaceID
    ) throws(ModelError) {
        let object: Live<M>
        switch mutation.intent {
        case .create:
            guard let draft = unstaged.removeValue(forKey: mutation.address) as? Live<M> else { return }
            object = draft
        case .update:
            object = try live.object(type, id: try current(mutation.address))
        case .delete:
            transaction.delete(try live.object(type, id: try current(mutation.address)))
            return
        }
        let schema = object.cell.schema
        for (name, value) in AttemptedChange(mutation).values {
            guard let slot = schema.position(of: name) else { continue }
            var value = value
            if case .reference(let id) = value, let target = schema.fields[slot].target {
                value = .reference(try current(RecordAddress(target, id)))
            }
            object.cell.set(FieldKey(slot: slot, name: name), to: value)
        }
        if case .create(let patch) = mutation.intent { leaveEmpty(schema.fields, without: patch, in: object.cell) }
        staged.append(object)
        transaction.edit(object)
    }

    /// Empties the fields that the rejected creation had left out. A draft has the defaults, and its author may have
    /// removed one.
    private func leaveEmpty(_ fields: [FieldSchema], without patch: Patch, in cell: LiveCell) {
        for (slot, field) in fields.enumerated() where !field.isRequired && patch[field.name] == nil {
            if !cell.value(at: slot).isNull { cell.set(FieldKey(slot: slot, name: field.name), to: .null) }
        }
    }

    /// Returns the id under which a record exists now: that of its new draft, or the one under which an earlier
    /// decision has created it again.
    private func current(_ record: RecordAddress) throws(ModelError) -> RecordID {
        if let draft = drafts[record] { return draft }
        return try live.decide { store in
            guard try store.space(of: record.collection, record.id) == nil,
                let replacement = try store.replacement(of: record.collection, record.id),
                try store.space(of: record.collection, replacement) != nil
            else { return record.id }
            return replacement
        }
    }
}
