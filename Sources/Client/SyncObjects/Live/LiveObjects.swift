import SyncConcurrency
public import SyncCore
import SyncModel
public import TomboloModeling

/// All live objects of one source. Each record has one live object, however it is reached.
///
/// There is one exception: a placeholder that was requested by uid stays a second object if its record arrives and
/// already has an object under its id. Both objects then show the same state, and share their edits.
///
/// Objects are held weakly: an object lives as long as the caller keeps it, and is created again when it is requested.
public final class LiveObjects: Sendable {
    /// The source and destination of the objects, such as the local database.
    public let source: any ModelSource
    /// The models of the application.
    public let models: ModelCatalog
    let runtime: EngineRuntime

    /// Publishes each change after the live objects show it.
    let changes = Broadcast<StoreChange>()

    private struct Key: Hashable, Sendable {
        let collection: CollectionName
        let key: RecordKey

        /// Leaves out the collection of a record that is known by its id: ids are random.
        func hash(into hasher: inout Hasher) {
            if case .uid = key { hasher.combine(collection) }
            hasher.combine(key)
        }
    }

    private struct Entry: Sendable {
        /// Increases with each registration, so that an entry is only replaced by code that has seen it.
        let serial: Int
        let cellIdentity: ObjectIdentifier
        weak var cell: LiveCell?
        weak var object: (any CellObserver)?
    }

    private struct Registry: Sendable {
        var serial = 0
        var entries: [Key: Entry] = [:]
        /// The ids of live records, by uid.
        var uids: [Key: RecordID] = [:]
        /// The entries whose record is not here and is known only by its uid.
        var placeholders: Set<Key> = []
        /// The number of reads that have begun.
        var reads = 0
        /// The number of changes of the source that have been absorbed.
        var absorbed = 0
    }

    private let registry = Guarded(Registry())
    /// The lock of all draft groups.
    private let groups = Guarded(())
    private let ended = Guarded(false)
    /// The `LiveKind` of each model type that has been used.
    private let kinds = Guarded<[ObjectIdentifier: any Sendable]>([:])
    let writes = AsyncMutex()
    /// The writes that have no result yet, in order of arrival.
    let waitingWrites = Guarded<[WaitingWrite]>([])
    private let watcher = Guarded<Task<Void, Never>?>(nil)

    /// Creates the set of live objects over a source, and follows the source's changes.
    ///
    /// - Parameter models: The models whose schemas the source has.
    public init(source: any ModelSource, models: ModelCatalog, runtime: EngineRuntime) {
        self.source = source
        self.models = models
        self.runtime = runtime
        guard let changes = source.changes?.subscribe() else { return }
        let task = runtime.spawn { [weak self] in
            for await change in changes {
                guard let self else { return }
                self.absorb(change)
            }
            // The source ends its changes when it is closed.
            self?.end()
        }
        watcher.withLock { $0 = task }
    }

    deinit {
        watcher.withLock { $0?.cancel() }
        changes.finish()
    }

    /// Ends all sequences over the objects. Called when the source closes.
    package func end() {
        ended.withLock { $0 = true }
        changes.finish()
    }

    var isEnded: Bool { ended.withLock { $0 } }

    // MARK: Objects

    /// Returns the parts that all objects of a model share.
    ///
    /// - Throws: `invalidModel` if the model is not one of ``models``.
    func kind<M: Model>(of type: M.Type) throws(ModelError) -> LiveKind<M> {
        let key = ObjectIdentifier(type)
        if let kind = kinds.withLock({ $0[key] }) as? LiveKind<M> { return kind }
        let kind: LiveKind<M>
        do { kind = LiveKind(try models.shape(of: type)) } catch { throw ModelError(error) }
        kinds.withLock { $0[key] = kind }
        return kind
    }

    /// Makes a draft. Neither the store nor the server knows it until `create` is called.
    ///
    /// - Parameters:
    ///   - space: The space of the record; nil for the space of its transaction.
    ///   - fill: Sets the first values.
    func make<M: Model>(_ kind: LiveKind<M>, in space: SpaceID? = nil, fill: (Live<M>) -> Void) -> Live<M> {
        var random = runtime.generator
        let id = RecordID.make(at: runtime.now(), random: &random)
        let cell = LiveCell(schema: kind.schema, objects: self, key: .id(id), presence: .draft, space: space)
        let object = Live(kind: kind, cell: cell)
        cell.madeGroup().add(cell, id: id)
        fill(object)
        return register(object, under: .id(id))
    }

    /// Returns the object with this id, or a placeholder when the record is not here.
    func object<M: Model>(_ kind: LiveKind<M>, id: RecordID) throws(ModelError) -> Live<M> {
        if let object = registered(kind, .id(id)) { return object }
        let reading = beginRead()
        return adopt(kind, .id(id), try source.lookup(kind.collection, .id(id)), reading)
    }

    /// Returns the object with this uid, or a placeholder when the record is not here.
    ///
    /// - Throws: `invalidValue` when the uid is negative, or the failure of the source.
    func object<M: Model>(_ kind: LiveKind<M>, uid: Int) throws(ModelError) -> Live<M> {
        let collection = kind.collection
        guard uid >= 0 else {
            throw ModelError(.invalidValue, "\(uid) is not a valid uid of a \(collection): uids are 0 or more")
        }
        let key = RecordKey.uid(UID(Int64(uid)))
        if let id = registry.withLock({ $0.uids[Key(collection: collection, key: key)] }),
            let object = registered(kind, .id(id)), object.uid == uid
        {
            return object
        }
        if let object = registered(kind, key) { return object }
        let reading = beginRead()
        return adopt(kind, key, try source.lookup(collection, key), reading)
    }

    /// Returns the matching records in the order of the query, each with its live object.
    func objects<M: Model>(
        _ kind: LiveKind<M>, matching query: RecordQuery
    ) async throws(ModelError) -> [(record: Record, object: Live<M>)] {
        let reading = beginRead()
        return try await source.records(matching: query).map { ($0, adopt(kind, .id($0.id), .here($0), reading)) }
    }

    /// Returns the object of a reference. If the source fails, the object is a placeholder whose `load` tries again.
    func reach<M: Model>(_ kind: LiveKind<M>, _ id: RecordID) -> Live<M> {
        if let object = registered(kind, .id(id)) { return object }
        do throws(ModelError) {
            return try object(kind, id: id)
        } catch {
            return placeholder(kind, .id(id), presence: .awaited)
        }
    }

    // MARK: Registry: one object per record

    private func registered<M: Model>(_ kind: LiveKind<M>, _ key: RecordKey) -> Live<M>? {
        let entry = entry(kind.collection, key)
        if let object = entry?.object as? Live<M> { return object }
        // A draft that another object holds, or a record whose previous object was released.
        guard let cell = entry?.cell else { return nil }
        return register(Live(kind: kind, cell: cell), under: key)
    }

    private func entry(_ collection: CollectionName, _ key: RecordKey) -> Entry? {
        registry.withLock { $0.entries[Key(collection: collection, key: key)] }
    }

    /// Returns the object of a record that was just read, creating it when it is not in use.
    private func adopt<M: Model>(
        _ kind: LiveKind<M>, _ key: RecordKey, _ found: LookupResult, _ reading: ReadSequence
    ) -> Live<M> {
        switch found {
        case .here(let record):
            if let object = registered(kind, .id(record.id)) {
                let wasHere = object.cell.presence == .here
                // A source without changes does not report what a query has found, so arrivals are published here.
                // Changed values are not: an observed query reads again after each publication, and would cause the
                // next one.
                if object.cell.show(found, reading), source.changes == nil, !wasHere { publish(object.cell) }
                return object
            }
            let cell = LiveCell(schema: kind.schema, objects: self, showing: record, reading)
            return caughtUp(register(Live(kind: kind, cell: cell), under: .id(record.id)), since: reading)
        case .notHere:
            return caughtUp(placeholder(kind, key, presence: .notHere), since: reading)
        case .elsewhere:
            let object = placeholder(kind, key, presence: .awaited)
            _ = runtime.spawn {
                // Ignore the failure: a later call of `load` asks again and throws it.
                do throws(ModelError) { try await self.load(object.cell) } catch {}
            }
            return object
        }
    }

    /// Reads the record of an object again if the source has changed since the read that found it.
    ///
    /// The change was absorbed before the object was registered, so it did not reach the object.
    private func caughtUp<M: Model>(_ object: Live<M>, since reading: ReadSequence) -> Live<M> {
        if registry.withLock({ $0.absorbed }) != reading.absorbed { refresh([object.cell]) }
        return object
    }

    private func placeholder<M: Model>(_ kind: LiveKind<M>, _ key: RecordKey, presence: Presence) -> Live<M> {
        let cell = LiveCell(schema: kind.schema, objects: self, key: key, presence: presence)
        return register(Live(kind: kind, cell: cell), under: key)
    }

    /// Registers the object under the key, or returns the one that was registered in the meantime.
    private func register<M: Model>(_ candidate: Live<M>, under key: RecordKey) -> Live<M> {
        let entryKey = Key(collection: candidate.cell.collection, key: key)
        // An entry whose object was released is replaced. Objects are looked at outside the lock, because their release
        // takes it.
        var released: Entry?
        while true {
            let (isRegistered, found) = registry.withLock { registry -> (Bool, Entry?) in
                let found = registry.entries[entryKey]
                guard found?.serial == released?.serial else { return (false, found) }
                registry.serial += 1
                registry.entries[entryKey] = Entry(
                    serial: registry.serial, cellIdentity: ObjectIdentifier(candidate.cell), cell: candidate.cell,
                    object: candidate)
                if case .uid = key { registry.placeholders.insert(entryKey) }
                return (true, nil)
            }
            if isRegistered { return candidate }
            if let object = found?.object as? Live<M> { return object }
            released = found
        }
    }

    /// Records the uid of a record. Called by a cell that has learned its uid.
    func index(_ collection: CollectionName, _ uid: UID, _ id: RecordID) {
        registry.withLock { $0.uids[Key(collection: collection, key: .uid(uid))] = id }
    }

    /// Removes a cell. Called when the cell is released.
    func forget(_ collection: CollectionName, _ key: RecordKey, uid: UID, _ identity: ObjectIdentifier) {
        let entryKey = Key(collection: collection, key: key)
        registry.withLock { registry in
            guard let index = registry.entries.index(forKey: entryKey),
                registry.entries[index].value.cellIdentity == identity
            else { return }
            registry.entries.remove(at: index)
            if case .uid = key { registry.placeholders.remove(entryKey) }
            registry.uids[Key(collection: collection, key: .uid(uid))] = nil
        }
    }

    /// Handles the arrival of a record whose placeholder was requested by uid: registers the cell under the record's
    /// id, or redirects it to the cell that is already registered there.
    ///
    /// - Returns: Whether anything visible changed.
    private func settle(_ cell: LiveCell, uid key: RecordKey, as record: Record, _ reading: ReadSequence) -> Bool {
        let collection = cell.collection
        let (old, new) = (Key(collection: collection, key: key), Key(collection: collection, key: .id(record.id)))
        while true {
            let found = registry.withLock { $0.entries[new] }
            // Another thread has settled this cell in the meantime.
            if found?.cell === cell { return cell.show(.here(record), reading) }
            if let other = found?.cell {
                cell.redirect(to: other)
                registry.withLock { registry in
                    registry.entries[old] = nil
                    registry.placeholders.remove(old)
                }
                other.show(.here(record), reading)
                return true
            }
            let object = registry.withLock { $0.entries[old] }?.object
            let isRegistered = registry.withLock { registry in
                guard registry.entries[new]?.serial == found?.serial else { return false }
                registry.serial += 1
                registry.entries[new] = Entry(
                    serial: registry.serial, cellIdentity: ObjectIdentifier(cell), cell: cell, object: object)
                registry.entries[old] = nil
                registry.placeholders.remove(old)
                return true
            }
            if isRegistered { return cell.show(.here(record), reading) }
        }
    }

    // MARK: Drafts

    /// Joins two draft groups. From then on, holding one of the two objects keeps the drafts of both alive.
    func join(_ one: DraftGroup, with other: DraftGroup) {
        groups.withLock { _ in
            let (first, second) = (one.root, other.root)
            guard first !== second else { return }
            // Moving the smaller group keeps the time for a chain of drafts from growing with its square.
            if first.count < second.count { first.move(into: second) } else { second.move(into: first) }
        }
    }

    /// Returns the cells of the records that have a live object.
    func cells(_ records: [RecordAddress]) -> [LiveCell] {
        records.compactMap { entry($0.collection, .id($0.id))?.cell }
    }

    // MARK: Reads

    /// Begins a read. Call this before reading the source, and pass the result along with the record that was read.
    func beginRead() -> ReadSequence {
        registry.withLock { registry in
            registry.reads += 1
            return ReadSequence(number: registry.reads, absorbed: registry.absorbed)
        }
    }

    func load(_ cell: LiveCell) async throws(ModelError) {
        switch cell.presence {
        case .draft: return
        case .here, .awaited, .notHere:
            let reading = beginRead()
            var found = try source.lookup(cell.collection, cell.key)
            if found == .elsewhere {
                let record = try await source.fetch(cell.collection, cell.key)
                found = record.map { .here($0) } ?? .notHere
            }
            if take(found, into: cell, reading) { publish(cell) }
        case .gone: break
        }
        switch cell.presence {
        case .here, .draft: return
        case .gone: throw ModelError(.gone, "\(cell.label) is gone")
        case .awaited, .notHere: throw cell.nothingHere
        }
    }

    /// Updates cells from the source. A cell whose record the source cannot read now stays unchanged.
    ///
    /// - Returns: Whether anything visible changed.
    @discardableResult func refresh(_ cells: [LiveCell]) -> Bool {
        var isNew = false
        for cell in cells {
            let reading = beginRead()
            do throws(ModelError) {
                let found = try source.lookup(cell.collection, cell.key)
                if take(found, into: cell, reading) { isNew = true }
            } catch {
                continue
            }
        }
        return isNew
    }

    private func take(_ found: LookupResult, into cell: LiveCell, _ reading: ReadSequence) -> Bool {
        if case .here(let record) = found, case .uid = cell.key {
            return settle(cell, uid: cell.key, as: record, reading)
        }
        return cell.show(found, reading)
    }

    /// Publishes a change of one record that the source does not report.
    func publish(_ cell: LiveCell) {
        var change = StoreChange()
        switch cell.key {
        case .id(let id): change.touch(cell.collection, id)
        case .uid: change.extents[cell.collection] = .all
        }
        changes.publish(change)
    }

    /// Updates the live objects of the records that the source reports as changed.
    private func absorb(_ change: StoreChange) {
        let touched = registry.withLock { registry -> [Entry] in
            registry.absorbed += 1
            var keys = registry.placeholders.filter { change.extents[$0.collection] != nil }
            for (collection, extent) in change.extents {
                switch extent {
                case .all: keys.formUnion(registry.entries.keys.filter { $0.collection == collection })
                case .records(let ids): for id in ids { keys.insert(Key(collection: collection, key: .id(id))) }
                }
            }
            return keys.compactMap { registry.entries[$0] }
        }
        refresh(touched.compactMap(\.cell))
        changes.publish(change)
    }
}
