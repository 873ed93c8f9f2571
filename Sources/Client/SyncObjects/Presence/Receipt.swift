public import SyncCore
public import SyncModel

/// The result of a write: proof that it is durable on this device, and the way to wait for the server.
public struct Receipt: Sendable {
    let objects: LiveObjects
    /// The state of the first record that was written.
    let cell: LiveCell?
    let written: Written?

    /// The records that were written; empty if there was nothing to write.
    public var records: [RecordID] { written?.records.map(\.id) ?? [] }

    /// Whether there was nothing to write.
    public var isEmpty: Bool { written == nil }

    /// The place in the outbox; nil when the source has no outbox.
    public var sequence: OutboxSequence? { written?.ticket.sequence }

    /// Waits until the server has accepted the write and shown it back, which can take as long as the device is offline.
    ///
    /// - Returns: The uid of the first record that was written; −1 if it has none.
    /// - Throws: `rejected` with the server's reason, `takenBack`, `noServer` where nothing can confirm the write, or
    ///   `interrupted` when the task was cancelled. In the last case the write continues.
    @discardableResult public func confirmed() async throws(ModelError) -> Int {
        if let written { try await objects.confirm(written) }
        return Int((cell?.uid ?? .none).rawValue)
    }
}

/// A transaction that was written. It names its records, and holds none of them.
struct Written: Sendable {
    let ticket: WriteTicket
    let records: [RecordAddress]

    init(ticket: WriteTicket, edits: [RecordEdit]) {
        self.ticket = ticket
        records = edits.map { RecordAddress($0.collection, $0.record) }
    }
}
