public import SyncConcurrency
public import SyncCore
public import SyncModel

/// A source of live objects over the local store. Reads and writes never wait for a network.
public struct StoredSource: ModelSource {
    private let store: any LocalStore
    private let space: SpaceID
    private let server: Server

    /// Whether an engine keeps the store in sync with a server.
    public enum Server: Hashable, Sendable {
        /// An engine syncs the store, so confirmations can be awaited.
        case synced
        /// Nothing leaves this device, and records created here keep the uid −1.
        case none
    }

    /// Creates a source over an open store.
    ///
    /// - Parameters:
    ///   - space: The space of records that are created without a space.
    ///   - server: Whether an engine syncs the store.
    public init(store: any LocalStore, space: SpaceID = .default, server: Server) {
        self.store = store
        self.space = space
        self.server = server
    }

    /// The schemas of all collections.
    public var catalog: SchemaCatalog { store.catalog }

    public var changes: Broadcast<StoreChange>? { store.changes }

    public func lookup(_ collection: CollectionName, _ key: RecordKey) throws(ModelError) -> LookupResult {
        try asked { try store.record(collection, key) }.map { .here($0) } ?? .notHere
    }

    public func fetch(_ collection: CollectionName, _ key: RecordKey) throws(ModelError) -> Record? {
        try asked { try store.record(collection, key) }
    }

    public func hasSpace(of collection: CollectionName, _ id: RecordID) throws(ModelError) -> Bool {
        guard server == .synced else { return true }
        return try asked { () throws(StoreError) in
            let space = try store.space(of: collection, id)
            return try store.followedSpaces().contains { $0.space == space && $0.isComplete }
        }
    }

    /// Returns the records that match the query, in its order.
    public func records(matching query: RecordQuery) throws(ModelError) -> [Record] {
        try asked { try store.records(matching: query) }
    }

    public func count(matching query: RecordQuery) throws(ModelError) -> Int {
        try asked { try store.count(matching: query) }
    }

    public var journal: (any LocalStore)? { store }

    public func write(_ edits: [ModelEdit], now: WallTime) throws(ModelError) -> WriteTicket {
        let write = try local(edits)
        return WriteTicket(
            sequence: try asked { try store.commit(write.edits, seen: write.seen, in: write.space, now: now) })
    }

    public var largestWriteGroup: Int { 64 }

    public func write(together transactions: [[ModelEdit]], now: WallTime) -> [Result<WriteTicket, ModelError>] {
        let writes = transactions.map { edits in Result { () throws(ModelError) in try local(edits) } }
        let valid = writes.compactMap { try? $0.get() }
        let results = store.commit(valid, now: now)
        precondition(results.count == valid.count, "a store returns a result for each write")
        var next = results.makeIterator()
        return writes.map { write in
            Result { () throws(ModelError) in
                _ = try write.get()
                let result = next.next()
                return WriteTicket(sequence: try asked { try result?.get() ?? nil })
            }
        }
    }

    /// Returns the write of the store for the edits of one transaction.
    private func local(_ edits: [ModelEdit]) throws(ModelError) -> LocalWrite {
        LocalWrite(edits.map(\.edit), seen: seen(by: edits), in: try space(of: edits))
    }

    /// Returns the fields as the authors saw them: those that an update sets, and all fields of a record that is
    /// deleted.
    private func seen(by edits: [ModelEdit]) -> SeenFields {
        var seen: SeenFields = [:]
        for edit in edits {
            guard let shown = edit.shown, let schema = catalog[edit.edit.collection] else { continue }
            let names: [FieldName]
            switch edit.edit {
            case .create: continue
            case .update(_, _, let patch): names = patch.map { name, _ in name }
            case .delete: names = schema.fields.map(\.name)
            }
            let fields = names.compactMap { name in
                schema.position(of: name).map { (name, edit.seen[name] ?? shown.seenField(at: $0)) }
            }
            seen[edit.edit.address] = Dictionary(fields) { first, _ in first }
        }
        return seen
    }

    public func write(
        _ edits: [ModelEdit], correcting correction: JournalCorrection, now: WallTime
    ) throws(ModelError) -> WriteTicket {
        let write = try local(edits)
        do throws(StoreError) {
            return WriteTicket(
                sequence: try store.commit(
                    write.edits, seen: write.seen, correcting: correction, in: write.space, now: now))
        } catch {
            throw ModelError(decidingAbout: correction.entry, error)
        }
    }

    /// Returns the space of all edits, or the default space if no edit has one. All records of a transaction are in one
    /// space.
    private func space(of edits: [ModelEdit]) throws(ModelError) -> SpaceID {
        var found: SpaceID?
        for edit in edits {
            let space: SpaceID?
            if case .create = edit.edit {
                space = edit.space
            } else {
                let (collection, id) = (edit.edit.collection, edit.edit.record)
                space = try asked { () throws(StoreError) in try store.space(of: collection, id) }
            }
            guard let space else { continue }
            if let found, found != space {
                throw ModelError(
                    .invalidValue,
                    """
                    a transaction has records of the spaces \(found) and \(space); all records of a transaction have to be in \
                    one space
                    """)
            }
            found = space
        }
        return found ?? self.space
    }

    public func confirm(_ ticket: WriteTicket) async throws(ModelError) {
        guard server == .synced else {
            throw ModelError(
                .noServer, "the change is stored on this device, but no server is configured that could confirm it")
        }
        guard let sequence = ticket.sequence else { return }
        let fate: TransactionFate
        do {
            fate = try await store.settledFate(of: sequence)
        } catch let failure as StoreError {
            throw ModelError(failure)
        } catch {
            throw ModelError(
                .interrupted, "the wait for transaction \(sequence) was interrupted; the transaction is still sent")
        }
        switch fate {
        case .confirmed, .pending: return
        case .unknown:
            throw ModelError(
                .interrupted, "transaction \(sequence) was settled too long ago: its journal entry has been deleted")
        case .cancelled: throw ModelError(.takenBack, "transaction \(sequence) was cancelled before it was sent")
        case .rejected(let entry):
            if case .rejected(_, let rejection) = entry.event { throw ModelError(rejection) }
            throw ModelError(
                .rejected, "transaction \(sequence) was rejected: see entry \(entry.number) of the journal")
        }
    }

    /// Returns whether a write of the record is unconfirmed.
    public func isPending(_ collection: CollectionName, _ id: RecordID) throws(ModelError) -> Bool {
        try asked { try store.isPending(collection, id) }
    }

    private func asked<Value>(_ body: () throws -> Value) throws(ModelError) -> Value {
        do throws(StoreError) { return try StoreError.typed(body) } catch { throw ModelError(error) }
    }
}
