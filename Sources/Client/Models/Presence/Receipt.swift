public import SyncCore
public import SyncModel

/// The result of a write: proof of the first moment, and the way to await the second.
public struct Receipt: Sendable {
    let cell: LiveCell
    let written: Written

    /// The object that was written.
    public var record: RecordID { cell.recordID }

    /// The place in the outbox; nil where there is no outbox.
    public var sequence: OutboxSequence? { written.ticket.sequence }

    /// Waits until the server has the write and has shown it back; that can take as long as the device is offline.
    ///
    /// - Returns: the object's uid.
    /// - Throws: `rejected` with the server's reason, `takenBack`, `noServer` where nothing can confirm it, or
    ///   `interrupted` when the task was cancelled: what was written goes on.
    @discardableResult public func confirmation() async throws(ModelFailure) -> Int {
        try await cell.objects.confirm(written)
        return Int(cell.uid.rawValue)
    }
}

/// A transaction that was written. It names its records, and holds none of them.
struct Written: Sendable {
    let ticket: WriteTicket
    let records: [(collection: CollectionName, id: RecordID)]

    init(ticket: WriteTicket, edits: [RecordEdit]) {
        self.ticket = ticket
        records = edits.map { ($0.collection, $0.record) }
    }
}
