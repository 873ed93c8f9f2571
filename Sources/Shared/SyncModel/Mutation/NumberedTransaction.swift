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
