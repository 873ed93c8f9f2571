/// Mutations of one space that are written together on a client, and pushed, accepted, or rejected together.
public struct Transaction: Hashable, Sendable {
    /// The space of all its records.
    public let space: SpaceID
    /// The mutations. A mutation may refer to a record that a later one creates, so that one transaction can create a
    /// reference cycle.
    public let mutations: [Mutation]

    /// Creates a transaction without checking it. `SchemaCatalog.rejection(of:)` checks a transaction.
    public init(space: SpaceID, mutations: [Mutation]) {
        self.space = space
        self.mutations = mutations
    }

    /// The ids of the records that this transaction creates, in the order of its mutations.
    public var createdRecords: [RecordID] {
        mutations.compactMap { if case .create = $0.intent { $0.record } else { nil } }
    }

    /// The mutations in groups that are as small as possible, ordered so that no group refers to a record of a later
    /// one.
    public var referenceGroups: [[Mutation]] {
        let places = Dictionary(mutations.indices.map { (mutations[$0].record, $0) }) { first, _ in first }
        let references = mutations.map { $0.references.compactMap { places[$0] } }
        return ReferenceGroups.of(references).map { group in group.map { mutations[$0] } }
    }

    /// The size of all mutations as counted against `SchemaLimits.transactionBytes`, in bytes.
    public var byteCount: Int {
        mutations.reduce(0) { $0 + $1.byteCount }
    }
}

extension SchemaCatalog {
    /// Returns the first error of a transaction that can be found without reading a record; nil when there is none.
    ///
    /// The client checks before it writes, and the server before it applies.
    public func rejection(of transaction: Transaction) -> Rejection? {
        guard !transaction.mutations.isEmpty else {
            return Rejection(code: .malformed, message: "the transaction has no mutations", mutation: nil)
        }
        guard transaction.mutations.count <= SchemaLimits.mutationsPerTransaction else {
            return Rejection(
                code: .tooLarge,
                message:
                    "\(transaction.mutations.count) mutations in one transaction; at most \(SchemaLimits.mutationsPerTransaction) are allowed",
                mutation: nil)
        }
        guard transaction.byteCount <= SchemaLimits.transactionBytes else {
            return Rejection(
                code: .tooLarge,
                message:
                    "\(transaction.byteCount) bytes in one transaction; at most \(SchemaLimits.transactionBytes) are allowed",
                mutation: nil)
        }
        for (index, mutation) in transaction.mutations.enumerated() {
            guard let schema = self[mutation.collection] else {
                return Rejection(
                    code: .unknownCollection, message: "there is no collection \(mutation.collection)", mutation: index)
            }
            do throws(InvalidValueError) {
                switch mutation.intent {
                case .create(let patch): try schema.check(creating: patch)
                case .update(let edits): for edit in edits { try schema.check(edit.value, of: edit.field) }
                case .delete: break
                }
            } catch {
                let code: RejectionCode = error.problem == .unknownField ? .unknownField : .invalidValue
                return Rejection(code: code, message: error.description, mutation: index, fields: [error.field])
            }
        }
        return nil
    }
}
