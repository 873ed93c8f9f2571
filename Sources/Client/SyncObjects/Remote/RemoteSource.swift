public import SyncConcurrency
public import SyncCore
public import SyncModel

/// A source that talks directly to the server, with no store. Each write is one push and is confirmed when it returns.
///
/// A push without a response may have been applied. The source keeps it in memory, and sends it again under the same
/// number before anything else, so that a retry never applies it twice. If the server then refuses the contents, the
/// source still finds out whether the first attempt was applied. When the source is released, it forgets the write,
/// which may or may not have been applied.
///
/// All records are created in the one space of the source. A creation in another space throws `invalidValue`.
public final class RemoteSource: ModelSource {
    /// The schemas of all collections.
    public let catalog: SchemaCatalog
    let transport: any RemoteTransport
    let space: SpaceID
    private let hash: @Sendable (Transaction) throws -> PayloadHash
    private let session: Guarded<Session>
    private let pushes = AsyncMutex()

    private struct Session: Sendable {
        var identity: ClientIdentity
        var number = TransactionNumber.first
        var epoch: Epoch?
        var clock = HybridClock()
        var unanswered: Unanswered?
        /// The records that a write without a response turned out to have created. The application saw that write
        /// fail, and may create them again. A record is removed when another write contains it.
        var created: [RecordAddress: Record] = [:]
    }

    private struct Unanswered: Sendable {
        let edits: [ModelEdit]
        var transaction: Transaction
        var payload: PayloadHash
        /// Whether an attempt under the current identity got no response, so that the server may have applied it.
        var mayHaveArrived = false
        /// The numbers of such attempts under earlier identities.
        var formerly: [FormerNumber] = []
    }

    private struct Applied {
        let version: Version
        let uids: [AssignedUID]
        let conflicts: [FieldConflict]
    }

    /// Creates a source with a new client id.
    ///
    /// - Parameters:
    ///   - space: The space of all records.
    ///   - hash: Returns the hash of a transaction's canonical bytes, as the wire format defines them.
    public init(
        transport: any RemoteTransport, catalog: SchemaCatalog, space: SpaceID = .default, runtime: EngineRuntime,
        hash: @escaping @Sendable (Transaction) throws -> PayloadHash
    ) {
        self.transport = transport
        self.catalog = catalog
        self.space = space
        self.hash = hash
        var random = runtime.generator
        let client = ClientID.make(at: runtime.now(), random: &random)
        session = Guarded(Session(identity: ClientIdentity(client: client, incarnation: 0)))
    }

    // MARK: Reads

    public func lookup(_ collection: CollectionName, _ key: RecordKey) -> LookupResult { .elsewhere }

    public func fetch(_ collection: CollectionName, _ key: RecordKey) async throws(ModelError) -> Record? {
        do {
            return try await transport.fetch(FetchRequest(space: space, collection: collection, key: key))
        } catch {
            throw ModelError(error)
        }
    }

    /// Pulls all records of the source's space, and returns those that match the query, in its order. A query of
    /// another space finds none.
    ///
    /// - Throws: `tooMuch` if the collection has more than 10,000 records, `invalidValue` if there is no such
    ///   collection, or the failure of the transport.
    public func records(matching query: RecordQuery) async throws(ModelError) -> [Record] {
        guard let schema = catalog[query.collection] else {
            throw ModelError(.invalidValue, "there is no collection \(query.collection)")
        }
        guard query.space ?? space == space else { return [] }
        var scan = RemoteScan(collection: query.collection, schema: schema, space: space)
        do throws(TransportError) {
            while let request = try scan.next { try scan.take(try await transport.pull(request)) }
        } catch {
            throw scan.isTooLarge ? scan.tooMuch : ModelError(error)
        }
        return query.matches(among: scan.records.values, schema: schema)
    }

    /// Returns whether a write of the record has had no response yet.
    public func isPending(_ collection: CollectionName, _ id: RecordID) -> Bool {
        session.withLock {
            $0.unanswered?.edits.contains { $0.edit.collection == collection && $0.edit.record == id } ?? false
        }
    }

    public var changes: Broadcast<StoreChange>? { nil }

    // MARK: Writes

    public func write(_ edits: [ModelEdit], now: WallTime) async throws(ModelError) -> WriteTicket {
        try await pushes.withLock { () async throws(ModelError) in
            try checkSpaces(of: edits)
            if let earlier = session.withLock({ $0.unanswered }) {
                let edits = withoutRepeatedCreations(edits)
                if earlier.edits == edits {
                    return try await ticket(of: edits, after: send(earlier, now: now))
                }
                try await settle(earlier, now: now)
            }
            let edits = withoutRepeatedCreations(edits)
            let transaction = transaction(of: edits, now: now)
            if let rejection = catalog.rejection(of: transaction) { throw ModelError(rejection) }
            // Hash first: a transaction that cannot be encoded must not block later ones.
            let write = Unanswered(edits: edits, transaction: transaction, payload: try payload(of: transaction))
            session.withLock { $0.unanswered = write }
            return try await ticket(of: edits, after: send(write, now: now))
        }
    }

    /// Returns at once, because a write of this source is confirmed when `write` returns.
    public func confirm(_ ticket: WriteTicket) {}

    private func checkSpaces(of edits: [ModelEdit]) throws(ModelError) {
        guard let other = edits.lazy.compactMap(\.space).first(where: { $0 != space }) else { return }
        throw ModelError(
            .invalidValue,
            "a record cannot be created in the space \(other): this client has no store, and writes only to \(space)")
    }

    /// Finds out the outcome of an earlier write that had no response, and remembers the records that it created.
    private func settle(_ earlier: Unanswered, now: WallTime) async throws(ModelError) {
        let applied: Applied
        do throws(ModelError) {
            applied = try await send(earlier, now: now)
        } catch {
            // The server has decided: it has not applied the write and never will.
            guard session.withLock({ $0.unanswered != nil }) else { return }
            throw error
        }
        let creations = Set(
            earlier.edits.compactMap { edit in if case .create = edit.edit { edit.edit.address } else { nil } })
        let records = records(of: earlier.edits, after: applied)
        session.withLock { session in
            // Includes the new values of remembered records that the write updated.
            let kept = records.filter { creations.contains($0.key) || session.created[$0.key] != nil }
            if session.created.count + kept.count > RemoteLimits.createdRecords { session.created = [:] }
            session.created.merge(kept) { $1 }
        }
    }

    /// Returns the edits. A creation of a record that an earlier write has created becomes an update.
    private func withoutRepeatedCreations(_ edits: [ModelEdit]) -> [ModelEdit] {
        let known = session.withLock { $0.created }
        return edits.map { edit in
            guard case .create(let collection, let id, let created) = edit.edit,
                let record = known[edit.edit.address]
            else {
                return edit
            }
            // A create leaves out the fields without a value. The record may have one from the earlier attempt.
            var patch = created
            for (field, value) in zip(catalog[collection]?.fields ?? [], record.values)
            where !value.isNull && patch[field.name] == nil {
                patch.set(field.name, to: .null)
            }
            return ModelEdit(.update(collection, id, patch), shown: record)
        }
    }

    private func transaction(of edits: [ModelEdit], now: WallTime) -> Transaction {
        let time = session.withLock { $0.clock.tick(now: now) }
        return Transaction(
            space: space,
            mutations: edits.map { edit in
                Mutation(
                    collection: edit.edit.collection, record: edit.edit.record, time: time, intent: intent(of: edit))
            })
    }

    private func intent(of edit: ModelEdit) -> Mutation.Intent {
        switch edit.edit {
        case .create(_, _, let patch): return .create(patch)
        case .update(let collection, _, let patch):
            return .update(
                patch.map { name, value in
                    guard let shown = edit.shown, let position = catalog[collection]?.position(of: name) else {
                        return FieldEdit(field: name, value: value, before: .null, seen: .zero)
                    }
                    let seen = edit.seen[name]
                    return FieldEdit(
                        field: name, value: value, before: seen?.value ?? shown.values[position],
                        seen: shown.versionSeen(seen, ofFieldAt: position))
                })
        case .delete:
            guard let shown = edit.shown, let schema = catalog[edit.edit.collection] else {
                return .delete(seen: .zero)
            }
            return .delete(seen: shown.versionSeen(edit.seen, in: schema), unshown: shown.unshownFields)
        }
    }

    /// Pushes one transaction until the server responds or the transport fails.
    ///
    /// If the server refuses the contents although an earlier attempt may have been applied, an empty transaction is
    /// sent under the same number. Either it takes the number, so that the write can never be applied, or the server
    /// reports a conflict of identities. In that case, a push under a new identity asks for the outcome.
    private func send(_ write: Unanswered, now: WallTime) async throws(ModelError) -> Applied {
        var write = write
        var refused: TransportError?
        var renewals = 0
        while true {
            let (identity, number, epoch) = session.withLock { ($0.identity, $0.number, $0.epoch) }
            let contents = refused == nil ? write.transaction : Transaction(space: space, mutations: [])
            let numbered = NumberedTransaction(
                number: number, hash: refused == nil ? write.payload : try payload(of: contents),
                transaction: contents, formerNumbers: write.formerly)
            let response: PushResponse
            do throws(TransportError) {
                response = try await transport.push(
                    PushRequest(identity: identity, epoch: epoch, acknowledged: number, transactions: [numbered]))
            } catch {
                guard refused == nil else { throw ModelError(error) }
                guard error.blamesRequest else {
                    session.withLock { $0.unanswered?.mayHaveArrived = true }
                    throw ModelError(error)
                }
                guard write.mayHaveArrived || !write.formerly.isEmpty else {
                    // The server itself says that it has not applied the transaction and never will.
                    session.withLock { $0.unanswered = nil }
                    throw ModelError(error)
                }
                refused = error
                continue
            }
            switch response {
            case .answered(let results, let epoch, let serverTime):
                guard let outcome = results.first(where: { $0.number == number })?.outcome else {
                    session.withLock { $0.unanswered?.mayHaveArrived = true }
                    throw ModelError(
                        TransportError(.serverFailed, "the server gave no response to transaction \(number)"))
                }
                session.withLock { session in
                    session.epoch = epoch
                    session.number = number.next
                    session.unanswered = nil
                    session.clock.observe(serverTime, now: now, permitting: SchemaLimits.permittedSkew)
                }
                if let refused, case .rejected = outcome { throw ModelError(refused) }
                return try applied(outcome)
            case .refused(let refusal):
                renewals += 1
                // One renewal of the identity is allowed. A write whose contents were refused gets a second one, to ask
                // for its outcome.
                guard renewals <= (refused == nil ? 1 : 2), write.formerly.count < SchemaLimits.formerNumbers else {
                    throw ModelError(TransportError(.refused, "the server refuses this client's pushes: \(refusal)"))
                }
                if write.mayHaveArrived {
                    write.formerly.append(FormerNumber(identity: identity, number: number, hash: write.payload))
                    write.mayHaveArrived = false
                }
                if case .epochChanged = refusal {
                    // The versions that the author saw belong to a history that the server has lost.
                    write.transaction = Transaction(
                        space: space, mutations: write.transaction.mutations.map(\.havingSeenNothing))
                    write.payload = try payload(of: write.transaction)
                }
                session.withLock { [write] session in
                    session.identity = session.identity.next
                    session.number = .first
                    session.unanswered = write
                    if case .epochChanged(let epoch) = refusal { session.epoch = epoch }
                }
            }
        }
    }

    private func payload(of transaction: Transaction) throws(ModelError) -> PayloadHash {
        do { return try hash(transaction) } catch {
            throw ModelError(.invalidValue, "the transaction cannot be encoded: \(error)")
        }
    }

    private func applied(_ outcome: Outcome) throws(ModelError) -> Applied {
        switch outcome {
        case .rejected(let rejection): throw ModelError(rejection)
        case .applied(let version, let uids, let conflicts):
            if let bad = uids.first(where: { !$0.uid.isValid }) {
                throw ModelError(
                    TransportError(
                        .notUnderstood,
                        "the server gave \(bad.collection) \(bad.record) the uid \(bad.uid): uids are 0 or more"))
            }
            return Applied(version: version, uids: uids, conflicts: conflicts)
        }
    }

    // MARK: Results of a write

    private func ticket(of edits: [ModelEdit], after applied: Applied) async -> WriteTicket {
        session.withLock { session in
            for edit in edits { session.created[edit.edit.address] = nil }
        }
        var shown = records(of: edits, after: applied)
        for conflict in applied.conflicts {
            let address = RecordAddress(conflict.collection, conflict.record)
            guard shown[address] != nil else { continue }
            // Another device's value may have won. If the server cannot be reached now, the next `load` fetches the
            // record.
            do throws(ModelError) {
                if let record = try await fetch(address.collection, .id(address.id)) { shown[address] = record }
            } catch {
                continue
            }
        }
        return WriteTicket(sequence: nil, shown: shown)
    }

    /// Returns a record with the values of an own write. Its version stays that of the last read: others may have
    /// changed other fields since, and a delete must not claim to have seen them.
    private static func record(
        _ shown: Record, afterOwn patch: Patch, at version: Version, _ schema: ModelSchema
    ) -> Record {
        var record = shown.updated(by: patch, at: version, schema: schema)
        record.fieldVersions = schema.fields.indices.map { record.version(ofFieldAt: $0) }
        record.version = shown.version
        return record
    }

    private func records(of edits: [ModelEdit], after applied: Applied) -> [RecordAddress: Record] {
        var records: [RecordAddress: Record] = [:]
        for edit in edits where records[edit.edit.address] == nil {
            guard let schema = catalog[edit.edit.collection] else { continue }
            switch edit.edit {
            case .create(let collection, let id, let patch):
                let uid = applied.uids.first { $0.collection == collection && $0.record == id }?.uid ?? .none
                records[edit.edit.address] = Record(
                    id: id, uid: uid, version: applied.version, creating: patch, schema: schema)
            case .update(_, _, let patch):
                records[edit.edit.address] = edit.shown.map {
                    Self.record($0, afterOwn: patch, at: applied.version, schema)
                }
            case .delete: break
            }
        }
        return records
    }
}
