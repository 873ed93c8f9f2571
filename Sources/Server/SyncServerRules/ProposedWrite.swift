public import SyncAuthority
public import SyncModel
public import TomboloModeling

/// A pushed mutation, before the server commits it.
///
/// The server commits it only if the records are still the same by then. Otherwise, the rules judge it again.
public struct ProposedWrite: Sendable {
    /// The account that pushed the change.
    public let principal: Principal
    /// The space of the record.
    public let space: SpaceID
    /// The change, as the device sent it.
    public let mutation: Mutation
    /// The record before the transaction; nil when there is none.
    public let record: ServerRecord?
    /// The record after the earlier mutations of the transaction; nil when there is none. It differs from `record` only
    /// if the transaction changes the record more than once.
    public let before: ServerRecord?
    /// The record after this mutation, as the merge would store it; nil after a delete.
    public let proposed: ServerRecord?
    /// The position of the mutation in its transaction, for `ServerRejection.mutation`.
    public let position: Int
}

/// A pushed transaction, before the server commits it.
///
/// The server commits it only if the records are still the same by then. Otherwise, the rules judge it again.
public struct ProposedTransaction: Sendable {
    /// The account that pushed the transaction.
    public let principal: Principal
    /// The transaction, as the device sent it.
    public let transaction: Transaction
    /// The changes of all records, in their order, without creates that have taken effect before.
    public let writes: [ProposedWrite]
    let catalog: SchemaCatalog

    /// The space of the records.
    public var space: SpaceID { transaction.space }

    init(_ planned: PlannedTransaction, by principal: Principal, _ catalog: SchemaCatalog) {
        self.principal = principal
        self.catalog = catalog
        transaction = planned.transaction
        var records: [RecordAddress: ServerRecord?] = [:]
        writes = zip(planned.transaction.mutations, planned.effects).enumerated().compactMap { position, change in
            let (mutation, effect) = change
            let before = effect.before.map { ServerRecord($0) }
            let record = records[mutation.address] ?? before
            records[mutation.address] = .some(record)
            guard !effect.isRepeat else { return nil }
            return ProposedWrite(
                principal: principal, space: planned.transaction.space, mutation: mutation, record: record,
                before: before, proposed: effect.after.map { ServerRecord($0) }, position: position)
        }
    }

    /// Returns the changes of the records of a model, in their order.
    ///
    /// - Throws: `ModelDeclarationError` when the declaration is invalid, or the server does not have the model.
    public func writes<M: Model>(of model: M.Type) throws(ModelDeclarationError) -> [ModelWrite<M>] {
        let shape = try catalog.shape(of: model)
        return writes.filter { $0.mutation.collection == shape.schema.collection }.map { ModelWrite($0, shape) }
    }
}

/// A record with its values by name.
public struct ServerRecord: Sendable {
    /// The id of the record.
    public let id: RecordID
    /// The version of the last commit that changed the record; zero for a record that does not exist yet.
    public let version: Version
    let uid: UID
    private let values: Patch

    init(_ state: RecordState) {
        id = state.id
        version = state.version
        uid = state.uid
        values = state.values
    }

    /// The value of a field; null when it has none or there is no such field.
    public subscript(field: FieldName) -> FieldValue { values[field] ?? .null }
}

extension SchemaCatalog {
    /// Returns the shape of a model.
    ///
    /// - Throws: `ModelDeclarationError` when the declaration is invalid, or the server does not have the model.
    func shape<M: Model>(of model: M.Type) throws(ModelDeclarationError) -> ModelShape<M> {
        let shape = try ModelShape(model)
        guard self[shape.schema.collection] != nil else {
            throw ModelDeclarationError(
                .unknownModel, collection: M.collection,
                "there is a rule for \(M.self), which is not in the list of models; add \(M.self).self to it")
        }
        return shape
    }
}
