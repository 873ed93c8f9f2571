public import SyncConcurrency
public import SyncCore
public import SyncModel

/// The source and destination of live objects. It is the only thing in which the kinds of the model differ.
///
/// Safe to call from any thread. Callers have checked all edits against the schemas.
public protocol ModelSource: Sendable {
    /// The schemas of all collections.
    var catalog: SchemaCatalog { get }

    /// Returns the state of a record at once, without waiting for a network.
    func lookup(_ collection: CollectionName, _ key: RecordKey) throws(ModelError) -> LookupResult

    /// Returns the record from the server, or nil when there is none. Called only after `lookup` returned `elsewhere`.
    func fetch(_ collection: CollectionName, _ key: RecordKey) async throws(ModelError) -> Record?

    /// Returns the records that match the query, in its order.
    func records(matching query: RecordQuery) async throws(ModelError) -> [Record]

    /// Returns the number of records that match the filter. Cursor, limit, and offset do not count.
    func count(matching query: RecordQuery) async throws(ModelError) -> Int

    /// Writes the edits in one transaction, which is complete when this returns.
    ///
    /// - Parameter now: The device's wall clock.
    func write(_ edits: [ModelEdit], now: WallTime) async throws(ModelError) -> WriteTicket

    /// Waits until the server has the write. Throws `rejected`, `takenBack`, `noServer`, or `interrupted`.
    func confirm(_ ticket: WriteTicket) async throws(ModelError)

    /// Returns whether a write of the record is unconfirmed.
    func isPending(_ collection: CollectionName, _ id: RecordID) throws(ModelError) -> Bool

    /// Publishes changes made by others; nil when `write` is the only source of changes.
    var changes: Broadcast<StoreChange>? { get }

    /// The store with the journal of rejected and merged writes; nil when the source has none.
    var journal: (any LocalStore)? { get }
}

extension ModelSource {
    public var journal: (any LocalStore)? { nil }

    public func count(matching query: RecordQuery) async throws(ModelError) -> Int {
        var all = query
        all.cursor = nil
        all.limit = nil
        all.offset = 0
        return try await records(matching: all).count
    }
}

/// The result of looking up a record without waiting for a network.
public enum LookupResult: Hashable, Sendable {
    /// The record.
    case here(Record)
    /// There is no such record.
    case notHere
    /// Only the server knows; `fetch` asks it.
    case elsewhere
}

/// An edit, with the record that its author saw.
public struct ModelEdit: Hashable, Sendable {
    /// The change.
    public let edit: RecordEdit
    /// The record as it was shown; nil for a create.
    public let shown: Record?
    /// The space of a create; nil for that of the other edits of its transaction, or `default`.
    public let space: SpaceID?

    /// Creates an edit.
    public init(_ edit: RecordEdit, shown: Record?, space: SpaceID? = nil) {
        self.edit = edit
        self.shown = shown
        self.space = space
    }
}

/// The receipt of a write at its source, used to await the confirmation.
public struct WriteTicket: Hashable, Sendable {
    /// Nil when there is no outbox or the edits changed nothing.
    public let sequence: OutboxSequence?
    /// The records as the source knows them after the write, if `lookup` cannot return them.
    public let shown: [RecordID: Record]

    /// Creates a receipt.
    public init(sequence: OutboxSequence?, shown: [RecordID: Record] = [:]) {
        self.sequence = sequence
        self.shown = shown
    }
}
