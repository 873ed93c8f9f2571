public import SyncCore
public import SyncModel

/// The result of a write. It proves that the change is written, and lets the caller await its confirmation.
public struct Receipt: Sendable {
    let cell: LiveCell
    let written: Written

    /// The object that was written.
    public var record: RecordID { cell.recordID }

    /// The transaction's place in the outbox; nil when there is no outbox.
    public var sequence: OutboxSequence? { written.ticket.sequence }

    /// Waits until the server has the write and has shown it back. That can take as long as the device is offline.
    ///
    /// - Returns: The object's uid.
    /// - Throws: `rejected` with the server's reason; `takenBack`; `noServer` when nothing can confirm the write; or
    ///   `interrupted` when the task was cancelled, which does not affect the write.
    @discardableResult public func confirmation() async throws(ModelFailure) -> Int {
        try await cell.objects.confirm(written)
        return Int(cell.uid.rawValue)
    }
}

/// A transaction that was written. It stores the ids of its records and does not keep their objects alive.
struct Written: Sendable {
    let ticket: WriteTicket
    let records: [(collection: CollectionName, id: RecordID)]

    init(ticket: WriteTicket, edits: [RecordEdit]) {
        self.ticket = ticket
        records = edits.map { ($0.collection, $0.record) }
    }
}
