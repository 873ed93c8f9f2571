/// Mutations of one space, written together on a client; pushed, accepted or rejected together.
public struct Transaction: Hashable, Sendable {
    public let space: SpaceID
    /// Their order does not matter to references between them: a whole circle can be created at once.
    public let mutations: [Mutation]

    public init(space: SpaceID, mutations: [Mutation]) {
        self.space = space
        self.mutations = mutations
    }

    /// The records that this transaction creates, in its order.
    public var createdRecords: [RecordID] {
        mutations.compactMap { if case .create = $0.intent { $0.record } else { nil } }
    }

    /// Its mutations in the smallest groups of which none refers to a later one.
    public var groupsOfReferences: [[Mutation]] {
        let places = Dictionary(mutations.indices.map { (mutations[$0].record, $0) }) { first, _ in first }
        let references = mutations.map { $0.references.compactMap { places[$0] } }
        return ReferenceGroups.of(references).map { group in group.map { mutations[$0] } }
    }

    public var byteCount: Int {
        mutations.reduce(0) { $0 + $1.byteCount }
    }
}

/// SHA-256 over the canonical bytes of a transaction: tells a repeat from a re-used number (I2, I16).
public struct PayloadHash: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }
}

/// A transaction with the number under which it is pushed; from here on it never changes.
public struct NumberedTransaction: Hashable, Sendable {
    public let number: MutationNumber
    public let hash: PayloadHash
    public let transaction: Transaction

    public init(number: MutationNumber, hash: PayloadHash, transaction: Transaction) {
        self.number = number
        self.hash = hash
        self.transaction = transaction
    }
}

extension SchemaCatalog {
    /// What is wrong with a transaction that any party can see without looking at a record; nil when nothing is.
    ///
    /// The client asks before it writes, and the server before it applies.
    public func rejection(of transaction: Transaction) -> Rejection? {
        guard !transaction.mutations.isEmpty else {
            return Rejection(code: .malformed, message: "the transaction has no mutations", mutation: nil)
        }
        guard transaction.mutations.count <= ModelLimits.mutationsPerTransaction else {
            return Rejection(
                code: .tooLarge,
                message:
                    "\(transaction.mutations.count) mutations in one transaction, at most \(ModelLimits.mutationsPerTransaction) allowed",
                mutation: nil)
        }
        guard transaction.byteCount <= ModelLimits.transactionBytes else {
            return Rejection(
                code: .tooLarge,
                message:
                    "\(transaction.byteCount) bytes in one transaction, at most \(ModelLimits.transactionBytes) allowed",
                mutation: nil)
        }
        for (index, mutation) in transaction.mutations.enumerated() {
            guard let schema = self[mutation.collection] else {
                return Rejection(
                    code: .unknownCollection, message: "there is no collection \(mutation.collection)", mutation: index)
            }
            do throws(InvalidValue) {
                switch mutation.intent {
                case .create(let patch): try schema.check(creating: patch)
                case .update: try schema.check(updating: mutation.patch)
                case .delete: break
                }
            } catch {
                let code: RejectionCode = error.problem == .unknownField ? .unknownField : .invalidValue
                return Rejection(code: code, message: error.description, mutation: index)
            }
        }
        return nil
    }
}
