public import SyncConcurrency
public import SyncCore
public import SyncModel

/// The source and destination of live objects: a local store, or the server. All other code of live objects is the same
/// for every source.
///
/// A source is safe to use from any thread. Its callers have checked all edits against the schemas.
public protocol ModelSource: Sendable {
    /// The schemas of all collections.
    var catalog: SchemaCatalog { get }

    /// Returns the state of a record at once, without waiting for a network.
    func lookup(_ collection: CollectionName, _ key: RecordKey) throws(ModelError) -> LookupResult

    /// Returns the record from the server, or nil when there is none. Called only after `lookup` returned `elsewhere`.
    func fetch(_ collection: CollectionName, _ key: RecordKey) async throws(ModelError) -> Record?

    /// Returns the records that match the query, in its order.
    func records(matching query: RecordQuery) async throws(ModelError) -> [Record]

    /// Returns the number of records that match the filter. The cursor, limit, and offset of the query are ignored.
    func count(matching query: RecordQuery) async throws(ModelError) -> Int

    /// Writes the edits in one transaction, which is complete when this returns.
    ///
    /// - Parameter now: The device's wall clock.
    func write(_ edits: [ModelEdit], now: WallTime) async throws(ModelError) -> WriteTicket

    /// Writes several transactions, in order, and makes them durable together. Each takes effect, or fails, by itself.
    ///
    /// - Parameters:
    ///   - transactions: The edits of each transaction, at most `largestWriteGroup` transactions.
    ///   - now: The device's wall clock.
    /// - Returns: For each transaction, what `write(_:now:)` would return or throw.
    func write(together transactions: [[ModelEdit]], now: WallTime) async -> [Result<WriteTicket, ModelError>]

    /// The number of transactions that are worth being written together; 1 when each costs the same by itself.
    var largestWriteGroup: Int { get }

    /// Writes the edits in place of the changes of a journal entry, and dismisses the entry, in one transaction. The
    /// edits may be empty.
    ///
    /// - Parameter now: The device's wall clock.
    /// - Throws: `alreadyDecided` when somebody has decided about the entry; `noServer` when the source has no journal;
    ///   or the failure of the source.
    func write(
        _ edits: [ModelEdit], correcting correction: JournalCorrection, now: WallTime
    ) async throws(ModelError) -> WriteTicket

    /// Waits until the server has confirmed the write.
    ///
    /// - Throws: `rejected`, `takenBack`, `noServer`, `interrupted`, or the failure of the source.
    func confirm(_ ticket: WriteTicket) async throws(ModelError)

    /// Returns whether a write of the record is unconfirmed.
    func isPending(_ collection: CollectionName, _ id: RecordID) throws(ModelError) -> Bool

    /// Returns whether the source has all records of the space in which a record is. A record of that space that is not
    /// here does not exist.
    func hasSpace(of collection: CollectionName, _ id: RecordID) throws(ModelError) -> Bool

    /// Publishes the changes of the source, including those by others; nil when the source learns of no changes but its
    /// own writes.
    var changes: Broadcast<StoreChange>? { get }

    /// The store with the journal of rejected and merged writes; nil when the source has none.
    var journal: (any LocalStore)? { get }
}

extension ModelSource {
    public var journal: (any LocalStore)? { nil }

    public var largestWriteGroup: Int { 1 }

    /// Returns false: the source does not know whether a record that is not here exists.
    public func hasSpace(of collection: CollectionName, _ id: RecordID) -> Bool { false }

    public func write(
        together transactions: [[ModelEdit]], now: WallTime
    ) async -> [Result<WriteTicket, ModelError>] {
        var results: [Result<WriteTicket, ModelError>] = []
        for edits in transactions {
            do throws(ModelError) {
                results.append(.success(try await write(edits, now: now)))
            } catch {
                results.append(.failure(error))
            }
        }
        return results
    }

    public func write(
        _ edits: [ModelEdit], correcting correction: JournalCorrection, now: WallTime
    ) async throws(ModelError) -> WriteTicket {
        throw .noJournal
    }

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
    /// The source has no such record.
    case notHere
    /// Only the server knows. `fetch` asks the server.
    case elsewhere
}

/// An edit, with what its author saw.
public struct ModelEdit: Hashable, Sendable {
    /// The change.
    public let edit: RecordEdit
    /// The record that was last shown; nil for a create.
    public let shown: Record?
    /// The fields that were set and not written yet, as they were shown when they were first set. Later values were
    /// hidden from the author.
    public let seen: [FieldName: SeenField]
    /// The space of a create; nil for the space of the other edits of its transaction, or else the default space of the
    /// source. Not used by other edits.
    public let space: SpaceID?

    /// Creates an edit.
    public init(
        _ edit: RecordEdit, shown: Record?, seen: [FieldName: SeenField] = [:], space: SpaceID? = nil
    ) {
        self.edit = edit
        self.shown = shown
        self.seen = seen
        self.space = space
    }
}

/// The identification of a write at its source, used to await the confirmation.
public struct WriteTicket: Hashable, Sendable {
    /// The place in the outbox; nil when there is no outbox or the edits changed nothing.
    public let sequence: OutboxSequence?
    /// The records as the source knows them after the write, if `lookup` cannot return them.
    public let shown: [RecordAddress: Record]

    /// Creates a ticket.
    public init(sequence: OutboxSequence?, shown: [RecordAddress: Record] = [:]) {
        self.sequence = sequence
        self.shown = shown
    }
}
