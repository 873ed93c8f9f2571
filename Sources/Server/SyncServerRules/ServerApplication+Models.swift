public import SyncAuthority
public import SyncModel
public import TomboloModeling

/// Rules for the records of one model, with typed values.
extension ServerApplication {
    /// Adds a rule for who may create, change, or delete which records of a model. All rules of a model must allow a
    /// change.
    ///
    ///     server.authorize(Todo.self) { write in write.record.map { $0.author == write.principal.name } ?? true }
    ///
    /// Reading is allowed by space, not by record: see ``authorizeSpaces(_:)``.
    ///
    /// - Parameter body: returns false to reject the transaction as `forbidden`. When it throws or takes too long, the
    ///   server commits neither this transaction nor those after it, and the client tries again later.
    public mutating func authorize<M: Model>(
        _ model: M.Type, write body: @escaping @Sendable (ModelWrite<M>) async throws -> Bool
    ) {
        guard let (collection, shape) = shape(of: model) else { return }
        authorize(collection) { write in try await body(ModelWrite(write, shape)) }
    }

    /// Adds a check of each change of a record of a model. The check runs before the server commits the transaction.
    ///
    ///     server.validate(Todo.self) { write in
    ///         guard write.proposed?.title != "spam" else {
    ///             throw ServerRejection(code: "spam", message: "not here", fields: ["title"])
    ///         }
    ///     }
    ///
    /// - Parameter body: throws a `ServerRejection` to reject the transaction. When it throws another error or takes
    ///   too long, the server commits neither this transaction nor those after it, and the client tries again later.
    public mutating func validate<M: Model>(
        _ model: M.Type, _ body: @escaping @Sendable (ModelWrite<M>) async throws -> Void
    ) {
        guard let (collection, shape) = shape(of: model) else { return }
        writeChecks[collection, default: []].append { write in try await body(ModelWrite(write, shape)) }
    }

    /// Returns the shape of a model. If the declaration is invalid, or the server does not have the model, stores the
    /// error in `problem`, unless there is one already, and returns nil.
    private mutating func shape<M: Model>(of model: M.Type) -> (CollectionName, ModelShape<M>)? {
        do throws(ModelDeclarationError) {
            let shape = try catalog.shape(of: model)
            return (shape.schema.collection, shape)
        } catch {
            if problem == nil { problem = error }
            return nil
        }
    }
}

/// A pushed change of one record, before the server commits it.
///
/// The server commits it only if the records are still the same by then. Otherwise, the rules judge it again.
public struct ModelWrite<M: Model>: Sendable {
    /// The account that pushed the change.
    public let principal: Principal
    /// The space of the record.
    public let space: SpaceID
    /// Whether the record is to be created, updated, or deleted.
    public let kind: Kind
    /// The id of the record.
    public let id: RecordID
    /// The record before the transaction; nil when there is none.
    public let record: Snapshot<M>?
    /// The record after the earlier changes of the transaction; nil when there is none. It differs from `record` only
    /// if the transaction changes the record more than once, so a rule for steps compares it with `proposed`.
    public let before: Snapshot<M>?
    /// The record after this change, as the merge would store it; nil after a delete.
    public let proposed: Snapshot<M>?
    private let setFields: Set<FieldName>
    private let shape: ModelShape<M>

    /// Returns whether the change sets a field, even to the value that the field has.
    ///
    /// Setting the same value is an edit: until its time has passed, it wins over earlier edits of others. So a rule
    /// that protects a field asks whether the field is set, not only whether its value is different.
    public func sets<Value>(_ field: KeyPath<M, ModelField<M, Value>>) -> Bool {
        setFields.contains(shape.fields[keyPath: field].key.name)
    }

    /// Returns whether the change sets a reference, even to the record to which it leads. See the function for fields.
    public func sets<Other>(_ reference: KeyPath<M, ModelReference<M, Other>>) -> Bool {
        setFields.contains(shape.fields[keyPath: reference].key.name)
    }

    /// The kind of a change.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// The record is to be created, updated, or deleted. A create of a record that exists already, because two
        /// devices have made the same id, is an update.
        case create, update, delete
    }

    init(_ write: ProposedWrite, _ shape: ModelShape<M>) {
        principal = write.principal
        space = write.space
        id = write.mutation.record
        kind =
            switch write.mutation.intent {
            case .create: write.before == nil ? .create : .update
            case .update: .update
            case .delete: .delete
            }
        record = write.record.map { Snapshot($0, shape) }
        before = write.before.map { Snapshot($0, shape) }
        proposed = write.proposed.map { Snapshot($0, shape) }
        setFields = Set(write.mutation.patch.map(\.field))
        self.shape = shape
    }
}

extension Snapshot {
    fileprivate init(_ record: ServerRecord, _ shape: ModelShape<M>) {
        self.init(
            id: record.id, uid: Int(record.uid.rawValue), values: shape.schema.fields.map { record[$0.name] },
            shape: shape)
    }
}
