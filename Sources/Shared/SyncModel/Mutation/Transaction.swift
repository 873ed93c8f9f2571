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

/// The SHA-256 hash of the canonical bytes of a transaction. It distinguishes a repeated transaction from a reused
/// number (I2, I16).
public struct PayloadHash: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    public var description: String { rawValue }
}

/// A transaction with the number under which it is pushed. The transaction never changes once it has a number.
public struct NumberedTransaction: Hashable, Sendable {
    /// The number within the incarnation of the client, from 0.
    public let number: TransactionNumber
    /// The hash of the transaction in its canonical bytes, without the number and the age.
    public let hash: PayloadHash
    /// The mutations, as they were written.
    public let transaction: Transaction
    /// The age of the transaction at the time of the push, as measured by the device, in whole milliseconds; nil when
    /// the device cannot determine it.
    ///
    /// The server orders edits by its own clock minus this age, so that a device with a wrong clock neither wins nor
    /// loses because of it. The age is not part of the hash, because each attempt has a different age.
    public let age: Duration?
    /// The numbers under which earlier identities of the device have sent this transaction, oldest first.
    ///
    /// The server looks up the outcome under these numbers, so that a transaction that had already arrived takes effect
    /// only once (I2).
    public let formerNumbers: [FormerNumber]

    /// Creates a numbered transaction without checking its hash.
    ///
    /// - Parameters:
    ///   - hash: the hash of the transaction's canonical bytes, which the caller has computed.
    ///   - age: the time since the transaction was written; nil when it is unknown.
    ///   - formerNumbers: the earlier numbers of the transaction, oldest first.
    public init(
        number: TransactionNumber, hash: PayloadHash, transaction: Transaction, age: Duration? = nil,
        formerNumbers: [FormerNumber] = []
    ) {
        self.number = number
        self.hash = hash
        self.transaction = transaction
        self.age = age
        self.formerNumbers = formerNumbers
    }
}

/// The identity and number under which a device has sent a transaction before.
public struct FormerNumber: Hashable, Sendable {
    /// The identity that the device had then.
    public let identity: ClientIdentity
    /// The number within that identity.
    public let number: TransactionNumber
    /// The hash that was sent. The contents may differ, because the device rewrote them for another epoch.
    public let hash: PayloadHash

    /// Creates the record of an earlier push.
    public init(identity: ClientIdentity, number: TransactionNumber, hash: PayloadHash) {
        self.identity = identity
        self.number = number
        self.hash = hash
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
