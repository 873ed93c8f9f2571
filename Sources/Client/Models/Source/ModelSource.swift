public import SyncConcurrency
public import SyncCore
public import SyncModel

/// Where live objects come from and go to: the one thing in which the kinds of the model differ.
///
/// Safe to call from any thread. What is asked of it has been checked against the schemas.
public protocol ModelSource: Sendable {
    var catalog: SchemaCatalog { get }

    /// Returns the state of a record at once, without waiting for a network.
    func lookup(_ collection: CollectionName, _ key: RecordKey) throws(ModelFailure) -> LookupResult

    /// Asked only after `look` said `elsewhere`; nil when there is none.
    func fetch(_ collection: CollectionName, _ key: RecordKey) async throws(ModelFailure) -> Record?

    func records(matching query: RecordQuery) async throws(ModelFailure) -> [Record]

    /// Writes the edits in one transaction. It has happened when this returns.
    ///
    /// - Parameter now: the device's wall clock.
    func write(_ edits: [ModelEdit], now: WallTime) async throws(ModelFailure) -> WriteTicket

    /// Waits until the server has what was written. Throws `rejected`, `takenBack`, `noServer` or `interrupted`.
    func confirm(_ ticket: WriteTicket) async throws(ModelFailure)

    func isPending(_ collection: CollectionName, _ id: RecordID) throws(ModelFailure) -> Bool

    /// Tells what others changed; nil when nothing changes but by `write`.
    var changes: Broadcast<StoreChange>? { get }
}

/// The state of a record, as far as a source knows it at once.
public enum LookupResult: Hashable, Sendable {
    case here(Record)
    case notHere
    /// Only the server knows: `fetch` asks it.
    case elsewhere
}

/// An edit with what its user had before them.
public struct ModelEdit: Hashable, Sendable {
    public let edit: RecordEdit
    /// The record as it was shown; nil for a create.
    public let shown: Record?

    public init(_ edit: RecordEdit, shown: Record?) {
        self.edit = edit
        self.shown = shown
    }
}

/// The ticket that a source gives for a write, to await its confirmation with.
public struct WriteTicket: Hashable, Sendable {
    /// Nil where there is no outbox, or where the edits changed nothing.
    public let sequence: OutboxSequence?
    /// The records as the source knows them after the write, where `look` could not tell.
    public let shown: [RecordID: Record]

    public init(sequence: OutboxSequence?, shown: [RecordID: Record] = [:]) {
        self.sequence = sequence
        self.shown = shown
    }
}
