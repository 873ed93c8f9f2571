public import SyncModel

/// The place of a transaction in this device's write order; never reused.
public struct OutboxSequence: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: Int64

    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    public static func < (left: OutboxSequence, right: OutboxSequence) -> Bool {
        left.rawValue < right.rawValue
    }

    public var description: String { String(rawValue) }
}

/// A transaction in the outbox, as the store keeps it.
public struct OutboxEntry: Hashable, Sendable {
    /// The place of the transaction in the write order.
    public let sequence: OutboxSequence
    /// The mutations, as they were written or coalesced.
    public let transaction: Transaction
    /// The progress of the transaction under the current identity.
    public let state: State
    /// The numbers under which earlier identities of the device sent it, oldest first.
    public let formerly: [FormerNumber]
    /// The collection, or `collection.field`, that the server does not know yet; nil when the transaction is not held
    /// back.
    public let heldFor: String?

    /// Whether the server cannot have the transaction, so that it can still be cancelled or coalesced with a later one.
    public var isUnsent: Bool { state == .waiting && formerly.isEmpty }

    /// The stages between the write and its removal from the outbox.
    public enum State: Hashable, Sendable {
        /// Without a number: not sent under the current identity, or rejected by a server that does not know a
        /// collection or field yet, so that the transaction is sent again later.
        case waiting
        /// Sent at least once, and frozen because the server may have it.
        case sent(TransactionNumber, attempts: Int)
        /// Applied by the server at this version. The entry is removed when the pull cursor reaches the version.
        case answered(TransactionNumber, version: Version)
    }

    /// Creates an entry as a store has read it. By default, it has no former numbers and is not held back.
    public init(
        sequence: OutboxSequence, transaction: Transaction, state: State, formerly: [FormerNumber] = [],
        heldFor: String? = nil
    ) {
        self.heldFor = heldFor
        self.sequence = sequence
        self.transaction = transaction
        self.state = state
        self.formerly = formerly
    }
}
