public import SyncCore
public import SyncModel

/// The result of a write, which its caller can use to wait for the server's confirmation.
public struct Receipt: Sendable {
    let objects: LiveObjects
    /// The cell of the first record that was written; nil if there was none.
    let cell: LiveCell?
    let written: Written?
    /// The unconfirmed last writes of objects that had nothing to write.
    let earlier: [Written]

    /// The records that were written; empty if there was nothing to write.
    public var records: [RecordID] { written?.records.map(\.id) ?? [] }

    /// Whether there was nothing to write.
    public var isEmpty: Bool { written == nil }

    /// The place in the outbox; nil when the source has no outbox, or when there was nothing to write.
    public var sequence: OutboxSequence? { written?.ticket.sequence }

    /// Waits until the server has accepted the write and sent it back in a pull, which can take as long as the device
    /// is offline. Without a store, a write is confirmed already.
    ///
    /// For an object that had nothing to write, it waits for the last write of that object if that is not confirmed,
    /// because another task may have saved the edits of the caller.
    ///
    /// - Returns: The uid of the first record that was written; −1 if it has none.
    /// - Throws: `rejected` with the server's reason, `takenBack`, `noServer` when no server is configured, or
    ///   `interrupted` when the task was cancelled or the outcome is no longer recorded. A cancelled wait does not stop
    ///   the write.
    @discardableResult public func confirmed() async throws(ModelError) -> Int {
        for written in earlier { try await objects.confirm(written) }
        if let written { try await objects.confirm(written) }
        return Int((cell?.uid ?? .none).rawValue)
    }
}

/// A transaction that was written. It contains the addresses of its records, and does not keep their objects alive.
struct Written: Sendable {
    let ticket: WriteTicket
    let records: [RecordAddress]

    init(ticket: WriteTicket, edits: [RecordEdit]) {
        self.ticket = ticket
        records = edits.map { RecordAddress($0.collection, $0.record) }
    }
}

extension Receipt: CustomStringConvertible {
    /// The transaction and the number of its records, for a log.
    public var description: String {
        guard let written else { return "nothing to write" }
        let count = written.records.count
        let records = count == 1 ? "1 record" : "\(count) records"
        return sequence.map { "transaction \($0) with \(records)" } ?? records
    }
}
