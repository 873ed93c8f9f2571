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
    public let number: TransactionNumber
    public let hash: PayloadHash
    public let transaction: Transaction
    /// How long ago the transaction was written, in whole milliseconds, as its device reckons at the time of the push;
    /// nil when it cannot tell.
    ///
    /// The server orders edits by its own clock minus this age, so that a device with a wrong clock neither wins nor
    /// loses by it. Not part of the hash: each attempt has another age.
    public let age: Duration?
    /// The numbers under which earlier identities of the device have sent this transaction, oldest first.
    ///
    /// The server looks its outcome up under these, so that a transaction that had arrived takes effect once (I2).
    public let formerly: [FormerNumber]

    public init(
        number: TransactionNumber, hash: PayloadHash, transaction: Transaction, age: Duration? = nil,
        formerly: [FormerNumber] = []
    ) {
        self.number = number
        self.hash = hash
        self.transaction = transaction
        self.age = age
        self.formerly = formerly
    }
}

/// The name under which an earlier identity of a device has sent a transaction.
public struct FormerNumber: Hashable, Sendable {
    public let identity: ClientIdentity
    public let number: TransactionNumber
    /// The hash that was sent: the transaction may have been rewritten since, for another history of the server.
    public let hash: PayloadHash

    public init(identity: ClientIdentity, number: TransactionNumber, hash: PayloadHash) {
        self.identity = identity
        self.number = number
        self.hash = hash
    }
}

extension SchemaCatalog {
    /// Returns the first error of a transaction that any party can see without looking at a record; nil when there is none.
    ///
    /// The client asks before it writes, and the server before it applies.
    public func rejection(of transaction: Transaction) -> Rejection? {
        guard !transaction.mutations.isEmpty else {
            return Rejection(code: .malformed, message: "the transaction has no mutations", mutation: nil)
        }
        guard transaction.mutations.count <= SchemaLimits.mutationsPerTransaction else {
            return Rejection(
                code: .tooLarge,
                message:
                    "\(transaction.mutations.count) mutations in one transaction, at most \(SchemaLimits.mutationsPerTransaction) allowed",
                mutation: nil)
        }
        guard transaction.byteCount <= SchemaLimits.transactionBytes else {
            return Rejection(
                code: .tooLarge,
                message:
                    "\(transaction.byteCount) bytes in one transaction, at most \(SchemaLimits.transactionBytes) allowed",
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
